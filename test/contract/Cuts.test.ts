/**
 * Recorded streams of every dialect, cut after each byte: on each surface the answer is whole or
 * ends with an error, and never both. An answer that is whole says all that the stream said.
 *
 * Most bytes make no difference to what a dialect reads. So each cut is read by the dialect, and
 * the cuts that differ take the way through the gateway, once for each surface.
 */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Stream } from "effect"
import { type DialectName, type ModelOffer } from "../../src/domain/Catalog.ts"
import { type ChatEvent } from "../../src/domain/Chat.ts"
import { Providers } from "../../src/providers/Providers.ts"
import { Transport } from "../../src/providers/transport/Transport.ts"
import { requestWith } from "../gateway/plans.ts"
import { config, fixture, offer, replay } from "../providers/replayedTransport.ts"
import { surfaces } from "../support/surfaces.ts"
import { TestApp } from "../support/TestApp.ts"
import { testSettings } from "../support/testSettings.ts"

interface Recorded {
  readonly dialect: DialectName
  readonly api?: ModelOffer["api"]
  readonly upstream?: string
  readonly files: ReadonlyArray<string>
}

/** Each kind of block that a dialect has is in one of its streams. */
const recorded: ReadonlyArray<Recorded> = [
  { dialect: "openai", files: ["stream-tools.sse", "stream-reasoning.sse", "stream-refusal.sse"] },
  {
    dialect: "openai",
    api: "responses",
    files: ["responses-stream-tools.sse", "responses-stream-reasoning.sse", "responses-stream-refusal.sse"]
  },
  {
    dialect: "anthropic",
    files: ["anthropic-stream-interleaved.sse", "anthropic-stream-citations.sse", "anthropic-stream-error.sse"]
  },
  { dialect: "gemini", files: ["gemini-stream-signatures.sse", "gemini-stream-tools.sse"] },
  {
    dialect: "bedrock",
    upstream: "anthropic.claude-sonnet-4-20250514-v1:0",
    files: ["bedrock-stream-reasoning.bin", "bedrock-stream-tools.bin"]
  }
]

const cases = recorded.flatMap(({ files, ...how }) => files.map((file) => ({ file, ...how })))

/** A provider whose streams end after some bytes of the file, and the models that it offers. */
const providerOf = ({ api = "chat", dialect, upstream = "small" }: (typeof cases)[number], models: number) =>
  config({
    dialect,
    models: Array.from({ length: models }, (_, at) => ({ ...offer, id: `test/cut-${at}`, upstream, api }))
  })

describe.each(cases)("$file", (recording) => {
  const bytes = fixture(recording.file)
  const type = recording.dialect === "bedrock" ? "application/vnd.amazon.eventstream" : "text/event-stream"
  let cutAt = 0
  const transport = Layer.succeed(Transport, {
    endpoint: (config, path) => replay({ type, chunks: [bytes.subarray(0, cutAt)] }).endpoint(config, path)
  })

  /** What the dialect reads of the bytes. */
  const reading = Effect.gen(function* () {
    const provider = providerOf(recording, 1)
    const [model = offer] = provider.models
    const providers = Context.get(yield* Layer.build(Layer.provide(Providers.layer([provider]), transport)), Providers)
    const events: Array<ChatEvent> = []
    const request = requestWith({ stream: true })
    const stream = providers.get({ provider, offer: model })?.chatStream({ request, offer: model })
    const error = yield* Effect.scoped(
      Effect.flatMap(stream ?? Effect.die("no provider"), (opened) =>
        Stream.runForEach(opened.stream, (event) => Effect.sync(() => void events.push(event)))
      )
    ).pipe(
      Effect.as(null),
      Effect.catch(({ reason }) => Effect.succeed(reason))
    )
    return JSON.stringify([events, error])
  })

  it.effect("is whole or ends with an error on each surface, cut after any byte", () =>
    Effect.gen(function* () {
      const cuts = new Map<string, number>()
      for (cutAt = bytes.length; cutAt >= 0; cutAt--) cuts.set(yield* reading, cutAt)
      const layer = TestApp.layer({
        transport,
        settings: {
          cache: { ...testSettings.cache, enabled: false },
          routing: { ...testSettings.routing, retries: 0 },
          // A model for each cut: five failures in a row would open the circuit of one.
          providers: [providerOf(recording, cuts.size * surfaces.length)]
        }
      })
      const { issueKey, send } = Context.get(yield* Layer.build(layer), TestApp)
      const { secret: key } = yield* issueKey()
      let model = 0
      for (const surface of surfaces) {
        // The first is the whole stream.
        let whole: { readonly text: string; readonly toolArguments: ReadonlyArray<string> } | null = null
        for (const at of cuts.values()) {
          cutAt = at
          const body = surface.body({ text: "Hi", stream: true, model: `test/cut-${model++}` })
          const { status, text } = yield* send(surface.path, { key, body })
          const answer = surface.read(text)
          const place = `${surface.name}, cut at ${at}: ${text}`
          assert.strictEqual(answer.isWhole, answer.error === undefined, place)
          if (status === 200) surface.assertStream(text)
          else assert.isAtLeast(status, 500, place)
          const { toolArguments } = answer
          whole ??= { text: answer.text, toolArguments }
          if (answer.isWhole) assert.deepStrictEqual({ text: answer.text, toolArguments }, whole, place)
          else assert.isTrue(whole.text.startsWith(answer.text), place)
        }
      }
    }).pipe(Effect.scoped)
  )
})
