/**
 * The attempts of a receipt on one time axis, from the API's own start, end, wait and cost of each.
 * A skipped attempt takes no time. The first token is on the attempt that had it.
 */
import { type AdminGenerationRecord, type GenerationRecord } from "../../api/Generations.ts"

export type Attempt = GenerationRecord["attempts"][number] &
  Partial<Pick<(typeof AdminGenerationRecord.Type)["attempts"][number], "message">>

/** `waited`: before a retry. `calling`: until the answer or its first token. */
export interface Part {
  readonly kind: "waited" | "calling" | "streaming"
  readonly fromMs: number
  readonly toMs: number
}

export interface Drawn {
  readonly attempt: Attempt
  /** Empty: skipped, or recorded by an earlier version, which kept no times. */
  readonly parts: ReadonlyArray<Part>
  readonly firstTokenMs: number | null
}

const partsOf = (attempt: Attempt, streamed: boolean): ReadonlyArray<Part> => {
  const { ended_ms, latency_ms, started_ms, status, wait_ms } = attempt
  if (started_ms === null || status === "skipped") return []
  const endedMs = ended_ms ?? started_ms + latency_ms
  const isOver = streamed ? Math.min(endedMs, started_ms + latency_ms) : endedMs
  const parts: ReadonlyArray<Part> = [
    { kind: "waited", fromMs: started_ms - wait_ms, toMs: started_ms },
    { kind: "calling", fromMs: started_ms, toMs: isOver },
    { kind: "streaming", fromMs: isOver, toMs: endedMs }
  ]
  return parts.filter(({ fromMs, kind, toMs }) => kind === "calling" || toMs > fromMs)
}

/** The attempt during which the first token came. Of hedged ones the one that answered then. */
const firstAnswered = (attempts: ReadonlyArray<Attempt>, firstTokenMs: number): number => {
  const away = attempts.map(({ ended_ms, latency_ms, started_ms, status }) =>
    started_ms === null || status === "skipped" || firstTokenMs < started_ms || firstTokenMs > (ended_ms ?? Infinity)
      ? Infinity
      : Math.abs(started_ms + latency_ms - firstTokenMs)
  )
  const nearest = Math.min(...away)
  return nearest === Infinity ? -1 : away.indexOf(nearest)
}

export const timelineOf = (
  record: Pick<GenerationRecord, "latency_ms" | "streamed" | "time_to_first_token_ms"> & {
    readonly attempts: ReadonlyArray<Attempt>
  }
): { readonly wholeMs: number; readonly rows: ReadonlyArray<Drawn> } => {
  const { attempts, latency_ms, streamed, time_to_first_token_ms: firstTokenMs } = record
  const first = firstTokenMs === null ? -1 : firstAnswered(attempts, firstTokenMs)
  return {
    wholeMs: Math.max(1, latency_ms, ...attempts.map(({ ended_ms }) => ended_ms ?? 0)),
    rows: attempts.map((attempt, at) => ({
      attempt,
      parts: partsOf(attempt, streamed),
      firstTokenMs: at === first ? firstTokenMs : null
    }))
  }
}
