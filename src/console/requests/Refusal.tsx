/** A refused request: the gateway's words, what to do, and whose request it was. */
import { type ComponentChildren } from "preact"
import { withQuery } from "../client.ts"
import { count, words } from "../format.ts"
import { Badge } from "../parts/Badge.tsx"
import { Copy } from "../parts/Copy.tsx"
import { Facts } from "../parts/Facts.tsx"
import { Panel } from "../parts/Page.tsx"
import { Link } from "../router.tsx"
import { remedyOf } from "./remedies.ts"
import { type Row } from "./RequestTable.tsx"

interface RefusalProps {
  readonly of: Row
  readonly people: ReadonlyArray<readonly [name: string, value: ComponentChildren]>
}

export const Refusal = ({ of, people }: RefusalProps) => {
  const { count: times, endpoint, error_code, error_message, error_type, key_id, model, request_id, status } = of
  const facts: ReadonlyArray<readonly [name: string, value: ComponentChildren]> = [
    ["Type", words(error_type ?? "")],
    ["Code", error_code === null ? "none" : <code>{error_code}</code>],
    [
      "Request id",
      <>
        <code>{request_id}</code> <Copy text={request_id ?? ""} label="Copy the request id" />
      </>
    ],
    ...(people.length === 0 ? [["Key", "none that is valid"] as const] : people),
    ["Endpoint", endpoint === null ? "there is no such path" : <code>{endpoint}</code>],
    ["Model", model ?? "none that exists"],
    ["Stands for", times === 1 ? "this request alone" : `${count(times)} alike requests of the same minute`]
  ]
  const alike = withQuery("/requests", { end: "refused", type: error_type, key: key_id })
  return (
    <>
      <Facts
        facts={[
          ["Status", <Badge text={String(status ?? "")} tone="warn" />, "refused before a provider was called"],
          ["Cost", "$0", "nothing was billed"]
        ]}
      />
      <Panel title="Why it was refused">
        <p>{error_message}</p>
        <p class="quiet">{remedyOf(error_type ?? "", error_code)}</p>
      </Panel>
      <Panel title="Request">
        <dl class="pairs">
          {facts.flatMap(([name, value]) => [<dt key={name}>{name}</dt>, <dd key={`${name}=`}>{value}</dd>])}
        </dl>
        <p class="reserved">
          <Link to={alike}>Requests that were refused alike{key_id === null ? "" : ", of this key"}</Link>
        </p>
      </Panel>
    </>
  )
}
