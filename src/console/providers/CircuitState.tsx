/** The state of a circuit: since when, why, how often, and when it is tried again. */
import { type ProviderRecord } from "../../api/Providers.ts"
import { moment, relative } from "../format.ts"
import { Badge } from "../parts/Badge.tsx"
import { failureWords, stateOf } from "./trouble.ts"

type Circuit = Pick<ProviderRecord, "state" | "since" | "why" | "opened_24h" | "retry_at" | "calls" | "failed">

export const CircuitState = ({ of }: { readonly of: Circuit }) => {
  const { opened_24h, retry_at, since, state, why } = of
  const [word, tone] = stateOf(of)
  const asides = [
    why === null ? null : failureWords(why),
    since === null ? null : `since ${moment(since)}`,
    state !== "open" || retry_at === null ? null : `tried again ${relative(retry_at)}`,
    opened_24h === 0 ? null : `opened ${opened_24h === 1 ? "once" : `${opened_24h} times`} in 24 h`
  ].filter((aside) => aside !== null)
  return (
    <span class="lines">
      <span>
        <Badge text={word} tone={tone} />
      </span>
      {asides.map((aside) => (
        <span key={aside}>{aside}</span>
      ))}
    </span>
  )
}
