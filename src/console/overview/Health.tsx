/** The health of the gateway: its status, and why it is not ok, with the way to the provider. */
import { type HealthReport } from "../../api/Health.ts"
import { duration, moment } from "../format.ts"
import { Badge } from "../parts/Badge.tsx"
import { Link } from "../router.tsx"
import { type Loading } from "../useLoad.ts"

/** What was read before the gateway stopped answering is not its health. */
export const Health = ({ of: { data, failure } }: { readonly of: Loading<HealthReport> }) => {
  if (failure !== undefined)
    return (
      <span class="health" role="status">
        <Badge text={failure.status === 0 ? "not answering" : "unknown"} tone="bad" />
        <span>{failure.message}</span>
      </span>
    )
  if (data === undefined) return <span class="health">Reading the health</span>
  const down = Object.entries(data.dependencies).filter(([, { status }]) => status !== "ok")
  return (
    <span class="health">
      <Badge text={data.status} />
      {down.length === 0 ? null : (
        <span>{down.map(([name]) => name.replaceAll("_", " ")).join(", ")} does not answer</span>
      )}
      {data.providers
        .filter(({ status }) => status !== "ok")
        .map(({ models_down, since, slug, status }) => (
          <span key={slug}>
            <Link to={`/providers/${slug}`}>{slug}</Link>{" "}
            {status === "down" ? "gets no calls" : `gets no calls for ${models_down} of its models`}
            {since === null ? "" : ` since ${moment(since)}`}
          </span>
        ))}
      <span>
        version {data.version}, up {duration(data.uptime_s)}
      </span>
    </span>
  )
}
