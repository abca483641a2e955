/** How a generation ended, with its peculiarities. */
import { type GenerationRecord } from "../../api/Generations.ts"
import { words } from "../format.ts"
import { Badge } from "../parts/Badge.tsx"

type Ended = Pick<
  GenerationRecord,
  "attempts" | "cache_hit" | "cancelled" | "error_type" | "fallback_used" | "finish_reason"
>

export const End = ({ of }: { readonly of: Ended }) => (
  <span class="badges">
    {of.error_type !== null ? (
      <Badge text={of.error_type} tone="bad" />
    ) : of.cancelled ? (
      <Badge text="cancelled" />
    ) : (
      <Badge text={words(of.finish_reason ?? "ended")} tone={of.finish_reason === "stop" ? "good" : "calm"} />
    )}
    {of.cache_hit ? <Badge text="cache" tone="calm" /> : null}
    {of.fallback_used ? <Badge text="fallback" tone="warn" /> : null}
  </span>
)
