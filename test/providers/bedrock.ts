/**
 * Shared by the tests of the Bedrock dialect: a provider on replayed bytes, and messages of its
 * binary stream.
 */
import { crc32 } from "node:zlib"
import { Effect, Stream } from "effect"
import { type ProviderConfig } from "../../src/domain/Catalog.ts"
import { type ChatEvent, type ChatRequest } from "../../src/domain/Chat.ts"
import { makeBedrock } from "../../src/providers/bedrock/Bedrock.ts"
import { config, offer, replay, type Replay } from "./replayedTransport.ts"

export const SONNET = "anthropic.claude-sonnet-4-20250514-v1:0"

export const request = (overrides: Partial<ChatRequest> = {}): ChatRequest => ({
  model: "test/small",
  messages: [{ role: "user", content: "hi" }],
  stream: false,
  ...overrides
})

export const bedrock = (given: Replay, overrides: Partial<ProviderConfig> = {}) =>
  makeBedrock(
    config({ dialect: "bedrock", ...overrides }),
    replay({ type: "application/vnd.amazon.eventstream", ...given })
  )

export const offerOf = (upstream: string) => ({ ...offer, upstream })

export const collect = (given: Replay, sent: ChatRequest = request({ stream: true })) =>
  Effect.scoped(
    Effect.flatMap(bedrock(given).chatStream({ request: sent, offer: offerOf(SONNET) }), (events) =>
      Stream.runCollect(events.stream)
    )
  )

/** The events before the failure, and its reason. */
export const broken = Effect.fnUntraced(function* (given: Replay) {
  const events: Array<ChatEvent> = []
  const stream = bedrock(given).chatStream({ request: request({ stream: true }), offer: offerOf(SONNET) })
  const error = yield* Effect.flip(
    Effect.scoped(
      Effect.flatMap(stream, (opened) =>
        Stream.runForEach(opened.stream, (event) => Effect.sync(() => void events.push(event)))
      )
    )
  )
  return { events, reason: error.reason }
})

export const json = (value: unknown, rest: Partial<Replay> = {}): Replay => ({
  chunks: [Buffer.isBuffer(value) ? value : Buffer.from(JSON.stringify(value))],
  type: "application/json",
  ...rest
})

/** One message of the stream with text headers. */
export const message = (headers: Readonly<Record<string, string>>, payload: string): Buffer => {
  const named = Buffer.concat(
    Object.entries(headers).flatMap(([name, value]) => {
      const [key, text] = [Buffer.from(name), Buffer.from(value)]
      return [Buffer.of(key.length), key, Buffer.of(7, text.length >> 8, text.length & 255), text]
    })
  )
  const body = Buffer.from(payload)
  const prelude = Buffer.alloc(12)
  prelude.writeUInt32BE(named.length + body.length + 16, 0)
  prelude.writeUInt32BE(named.length, 4)
  prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8)
  const whole = Buffer.concat([prelude, named, body, Buffer.alloc(4)])
  whole.writeUInt32BE(crc32(whole.subarray(0, -4)), whole.length - 4)
  return whole
}

export const event = (type: string, payload: unknown): Buffer =>
  message({ ":message-type": "event", ":event-type": type }, JSON.stringify(payload))

export const exception = (type: string, payload: unknown): Buffer =>
  message({ ":message-type": "exception", ":exception-type": type }, JSON.stringify(payload))
