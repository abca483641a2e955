/**
 * Stores a chat completion for retries. A stream is recorded event by event, so that a replay is
 * identical byte for byte. A stream that breaks off, or whose client leaves, is not stored.
 */
import { Effect, Predicate } from "effect"
import { Batches } from "../../domain/runtime/Batches.ts"
import { type ChatReply, type UsageInfo } from "../../domain/Chat.ts"
import { type Completed, type CompletionEvent, type Head } from "../request/Answer.ts"
import { type KeptReply, MAX_KEPT_CHARACTERS, type ReplyForm, type Turn } from "../idempotency/Idempotency.ts"

interface Kept extends KeptReply {
  readonly head: Head
  readonly body:
    | { readonly reply: ChatReply; readonly usage: UsageInfo; readonly endedAtMs?: number }
    | { readonly events: ReadonlyArray<CompletionEvent> }
}

/** A JSON text of `Kept`. `body` is JSON text already. */
const textOf = (head: Head, body: string): string => {
  const { generationId, provider } = head
  return `${JSON.stringify({ generationId, provider, head }).slice(0, -1)},"body":${body}}`
}

const bodyOf = ({ endedAtMs, reply, usage }: Extract<Completed, { readonly _tag: "Reply" }>): string =>
  JSON.stringify({ reply: keptReply(reply), usage, endedAtMs })

/** A client of its own API gets no deltas, except for their finish reason. */
const keptEvent = (event: CompletionEvent): CompletionEvent =>
  event._tag === "Choices" && event.native !== undefined
    ? {
        ...event,
        choices: event.choices.flatMap(({ finish_reason, index }) =>
          finish_reason === null ? [] : [{ index, delta: {}, finish_reason }]
        )
      }
    : event

const keptReply = (reply: ChatReply): ChatReply => (reply.native === undefined ? reply : { ...reply, choices: [] })

/** Records the events that pass, and ends the turn before the last event is passed on. */
const recorded = (head: Head, events: Batches<CompletionEvent>, turn: Turn): Batches<CompletionEvent> => {
  let texts: Array<string> = []
  let size = 0
  let isKept = true
  return events.map((chunk) => {
    for (const event of chunk) {
      if (event._tag === "Failed") isKept = false
      if (!isKept) continue
      const text = JSON.stringify(keptEvent(event))
      texts.push(text)
      size += text.length + 1
      if (size > MAX_KEPT_CHARACTERS) isKept = false
    }
    if (!isKept) texts = []
    if (!chunk.some(({ _tag }) => _tag === "Usage")) return chunk
    return Effect.as(isKept ? turn.keep(textOf(head, `{"events":[${texts.join(",")}]}`)) : turn.free(), chunk)
  })
}

/** `again` runs if the reply of an earlier request is replayed. */
export const completionReplay = (again: (head: Head) => Effect.Effect<void>): ReplyForm<Completed, Kept> => ({
  kind: "chat",
  keep: (completed, turn) =>
    completed._tag === "Stream"
      ? Effect.succeed({ ...completed, events: recorded(completed.head, completed.events, turn) })
      : Effect.as(turn.keep(textOf(completed.head, bodyOf(completed))), completed),
  isKept: (value): value is Kept =>
    Predicate.isObject(value) && Predicate.isObject(value["head"]) && Predicate.isObject(value["body"]),
  replay: (kept) => {
    const { body, head } = kept
    return Effect.as(
      again(head),
      "events" in body ? { _tag: "Stream", head, events: Batches.of(body.events) } : { _tag: "Reply", head, ...body }
    )
  }
})
