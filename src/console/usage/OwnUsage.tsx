/** Usage of a user's keys, by model and key. */
import { type OwnUsage as Answer } from "../../api/signin/Portal.ts"
import { call, withQuery } from "../client.ts"
import { Link } from "../router.tsx"
import { type Usage, UsagePage } from "./UsagePage.tsx"

const load = async (from: string, signal: AbortSignal): Promise<Usage> => {
  const { by_day, by_key, by_model, ...whole } = await call<Answer>(withQuery("/v1/portal/usage", { from }), { signal })
  return {
    ...whole,
    facts: [],
    byDay: by_day,
    parts: [
      { title: "By model", rows: by_model.map((row) => ({ ...row, name: row.model })) },
      { title: "By key", rows: by_key.map((row) => ({ ...row, name: row.name ?? row.key_id })) }
    ]
  }
}

export const OwnUsage = () => (
  <UsagePage
    lead="What your keys have used, revoked ones too. Days are those of UTC."
    load={load}
    empty={
      <>
        Make a key under <Link to="/keys">Keys</Link> and call the gateway with it, or try a model in the{" "}
        <Link to="/playground">playground</Link>.
      </>
    }
  />
)
