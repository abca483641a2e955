/** A user's first page: the budget that is left, and the usage of the user's keys. */
import { type OwnGrants } from "../../api/signin/Portal.ts"
import { call } from "../client.ts"
import { Link } from "../router.tsx"
import { useLoad } from "../useLoad.ts"
import { Granted } from "../users/Granted.tsx"
import { loadOwnUsage } from "./usage.ts"
import { UsagePage } from "./UsagePage.tsx"

export const OwnUsage = () => {
  const grants = useLoad("grants", (signal) => call<OwnGrants>("/v1/portal/grants", { signal }))
  return (
    <UsagePage
      lead="What your keys have used, revoked ones too. Days are those of UTC."
      load={loadOwnUsage}
      empty={
        <>
          Make a key under <Link to="/keys">Keys</Link> and call the gateway with it, or try a model in the{" "}
          <Link to="/playground">playground</Link>.
        </>
      }
    >
      <Granted of={grants.data} />
    </UsagePage>
  )
}
