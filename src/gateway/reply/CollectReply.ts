/**
 * Collects a stream into a whole reply, for a client that asked for JSON. If the budget ends, the
 * answer ends with the finish reason `length`, as with a smaller `max_tokens`.
 */
import { Effect } from "effect"
import { type Batches } from "../../domain/runtime/Batches.ts"
import { type ChatEvent, type ChatReply } from "../../domain/Chat.ts"
import { type GatewayError } from "../../domain/Errors.ts"
import { Malformed, ProviderError, TooLarge } from "../../providers/Provider.ts"
import { ReplyAssembler } from "./ReplyAssembler.ts"
import { countReply } from "../tokens/Tokens.ts"

/** The largest reply, in characters of text. */
const LARGEST_REPLY = 32 * 1_048_576

/**
 * Fails if the provider breaks off or the stream has no end. `watched` receives a function that
 * returns the completion tokens so far.
 */
export const collectReply = Effect.fnUntraced(function* (
  events: Batches<ChatEvent, ProviderError | GatewayError>,
  provider: string,
  watched: (produced: () => number) => void
) {
  const builder = new ReplyAssembler(LARGEST_REPLY)
  watched(() => countReply(builder.partial()))
  let isCut = false
  const added = events.forEach((batch) => {
    for (const event of batch) builder.add(event)
    return builder.isTooLarge
      ? Effect.fail(new ProviderError({ provider, reason: new TooLarge({ limitBytes: LARGEST_REPLY }) }))
      : Effect.void
  })
  yield* added.pipe(
    Effect.catchTag("GatewayError", () =>
      Effect.sync(() => {
        isCut = true
        builder.add({ _tag: "End", usage: null, systemFingerprint: null })
      })
    )
  )
  const reply = builder.build()
  if (reply === null) {
    return yield* new ProviderError({ provider, reason: new Malformed({ detail: "a stream without an end" }) })
  }
  return isCut ? cutShort(reply) : reply
})

const cutShort = (reply: ChatReply): ChatReply => ({
  ...reply,
  choices: reply.choices.map((choice) => ({ ...choice, finish_reason: choice.finish_reason ?? "length" }))
})
