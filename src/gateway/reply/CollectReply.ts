/**
 * A whole reply out of a stream, for a client that asked for JSON. Where the budget ends that pays for it as it comes, the answer ends too,
 * with `length` for a finish reason, as it would have with a smaller `max_tokens`.
 */
import { Effect, Stream } from "effect"
import { type ChatEvent, type ChatReply } from "../../domain/Chat.ts"
import { type GatewayError } from "../../domain/Errors.ts"
import { Malformed, ProviderError, TooLarge } from "../../providers/Provider.ts"
import { ReplyAssembler } from "./ReplyAssembler.ts"
import { countReply } from "../tokens/Tokens.ts"

/** In characters of text: what a reply may hold at most. */
const LARGEST_REPLY = 32 * 1_048_576

/** Fails when the provider breaks off, or does not come to an end. `watched` gets what reads the completion tokens so far. */
export const collectReply = Effect.fnUntraced(function* (
  events: Stream.Stream<ChatEvent, ProviderError | GatewayError>,
  provider: string,
  watched: (produced: () => number) => void
) {
  const builder = new ReplyAssembler(LARGEST_REPLY)
  watched(() => countReply(builder.partial()))
  let isCut = false
  yield* events.pipe(
    Stream.runForEachArray((chunk) => {
      for (const event of chunk) builder.add(event)
      return builder.isTooLarge
        ? Effect.fail(new ProviderError({ provider, reason: new TooLarge({ limitBytes: LARGEST_REPLY }) }))
        : Effect.void
    }),
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
