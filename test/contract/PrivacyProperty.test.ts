/**
 * Values planted in bodies of any shape, on every endpoint that forwards text. The provider
 * receives none of them except in the listed exempt places, and the client reads its own values
 * back.
 */
import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { makeDice } from "../../scripts/privacyEval/Dice.ts"
import {
  defaultTimeouts,
  type DialectName,
  type ModelOffer,
  type ProviderConfig,
  unknownPolicy
} from "../../src/domain/Catalog.ts"
import { scriptedOffer } from "../../src/testing/ScriptedProvider.ts"
import { noPrivacy } from "../../src/settings/sections/PrivacySection.ts"
import { useUpstream } from "../faults/gateway.ts"
import { nativeBody, nativeEvents, streamed, text } from "./nativeMessages.ts"
import * as nativeResponses from "./nativeResponses.ts"
import { Planter } from "../support/Planter.ts"
import { chatSurface, messagesSurface, responsesSurface, type Surface } from "../support/surfaces.ts"
import { TestApp } from "../support/TestApp.ts"
import { type Behaviour } from "../support/upstream/Behaviour.ts"
import { chatBody, chunkBody, DONE, embeddingsBody, sse, usageChunkBody } from "../support/upstream/Bodies.ts"

const SEED = 20_261_122

const upstream = useUpstream()

/** A gateway that masks, in front of a provider that always behaves the same. */
const masking = Effect.fnUntraced(function* (
  name: string,
  does: Behaviour,
  {
    api = "chat",
    dialect = "openai",
    embeddings = false
  }: Partial<Pick<ModelOffer, "api" | "embeddings">> & {
    readonly dialect?: DialectName
  } = {}
) {
  yield* Effect.promise(() => upstream().script(name, does))
  const provider: ProviderConfig = {
    slug: "alpha",
    name: "alpha",
    dialect,
    baseUrl: upstream().url,
    apiKey: Redacted.make("sk-of-the-provider"),
    auth: { type: "bearer" },
    headers: {},
    query: {},
    dataPolicy: unknownPolicy,
    timeouts: { ...defaultTimeouts, firstTokenMs: 30_000, idleMs: 30_000 },
    models: [{ ...scriptedOffer("test/small"), upstream: name, embeddings, api }]
  }
  const settings = { providers: [provider], privacy: { ...noPrivacy, mode: "mask" as const } }
  const app = Context.get(yield* Effect.orDie(Layer.build(TestApp.layer({ settings }))), TestApp)
  const { secret } = yield* app.issueKey({ tier: "enterprise" })
  return {
    send: (path: string, body: unknown) => app.send(path, { body, key: secret }),
    received: Effect.map(
      Effect.promise(() => upstream().requests()),
      (requests) => requests.filter(({ model }) => model === name).map(({ rawBody }) => rawBody)
    )
  }
})

const isMembers = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const keptOfPart = new Set([
  "id",
  "tool_use_id",
  "signature",
  "data",
  "thought_signature",
  "encrypted_content",
  "encrypted_index",
  "type",
  "file_id"
])
const keptOfDetail = new Set(["id", "signature", "data", "type"])

/** A copy without the exempt places: of parts, nested parts and reasoning details. */
const without = (kept: ReadonlySet<string>) => {
  const strip = (item: unknown): unknown =>
    isMembers(item)
      ? Object.fromEntries(
          Object.entries(item)
            // Signed thoughts go back to their vendor as it wrote them.
            .filter(([name]) => !kept.has(name) && !(name === "thinking" && Boolean(item["signature"])))
            .map(([name, member]) => [name, name === "content" && Array.isArray(member) ? member.map(strip) : member])
        )
      : item
  return strip
}

/** The text in which no value may be found. */
const searched = (raw: string): string => {
  const body: unknown = JSON.parse(raw)
  if (!isMembers(body) || !Array.isArray(body["messages"])) return raw
  const messages = body["messages"].map((message: unknown) => {
    if (!isMembers(message)) return message
    const { content, reasoning_details: details, ...rest } = message
    return {
      ...rest,
      content: Array.isArray(content) ? content.map(without(keptOfPart)) : content,
      reasoning_details: Array.isArray(details) ? details.map(without(keptOfDetail)) : details
    }
  })
  return JSON.stringify({ ...body, messages })
}

/** A text as it appears in JSON, and in JSON within JSON. */
const writings = (text: string): ReadonlyArray<string> => {
  const once = JSON.stringify(text).slice(1, -1)
  return [text, once, JSON.stringify(once).slice(1, -1)]
}

const assertHidden = (raw: string, planted: ReadonlyArray<string>, where: string) => {
  const text = searched(raw)
  for (const value of planted) {
    for (const written of writings(value)) {
      if (text.includes(written)) assert.fail(`${where}: ${value} left in ${text}`)
    }
  }
}

const labels = ["EMAIL", "PHONE", "CREDIT_CARD", "IBAN", "US_SSN", "IP_ADDRESS", "SECRET"]
/** Every placeholder that a round may contain. */
const everyPlaceholder = labels
  .flatMap((label) => Array.from({ length: 99 }, (_, at) => `[${label}_${at + 1}]`))
  .join("\n")

const rounds = (seed: number, count: number) =>
  Array.from({ length: count }, (_, round) => new Planter(makeDice(seed + round)))

/**
 * Every value that was sent is restored, except those in exempt places. A later member may have
 * replaced a planted one.
 */
const assertRestored = (content: string, raw: string, sent: string, planted: ReadonlyArray<string>, where: string) => {
  for (const value of planted) {
    if (!writings(value).some((written) => sent.includes(written))) continue
    const isBack = content.includes(value) || writings(value).some((written) => raw.includes(written))
    assert.isTrue(isBack, `${where}: ${value} did not come back`)
  }
}

/** What a surface takes. Chat completions take the most shapes, and have the most rounds. */
const forms: ReadonlyArray<{
  readonly surface: Surface
  readonly body: (planter: Planter) => Readonly<Record<string, unknown>>
  readonly seed: number
  readonly rounds: number
  /** The provider's, and how it says a text. Default: chat completions of OpenAI's dialect. */
  readonly native?: {
    readonly dialect: DialectName
    readonly api?: NonNullable<ModelOffer["api"]>
    readonly says: (text: string, stream: boolean) => Behaviour
  }
}> = [
  { surface: chatSurface, body: (planter) => planter.chat(), seed: SEED, rounds: 120 },
  { surface: messagesSurface, body: (planter) => planter.messages(), seed: SEED + 40_000, rounds: 60 },
  { surface: responsesSurface, body: (planter) => planter.responses(), seed: SEED + 80_000, rounds: 60 },
  {
    surface: { ...messagesSurface, name: "messages in their own form" },
    body: (planter) => planter.nativeMessages(),
    seed: SEED + 60_000,
    rounds: 60,
    native: {
      dialect: "anthropic",
      says: (said, stream) =>
        stream
          ? streamed(nativeEvents([text(...(said.match(/[^]{1,97}/g) ?? []))]))
          : { json: nativeBody([{ type: "text", text: said }]) }
    }
  },
  {
    surface: { ...responsesSurface, name: "responses in their own form" },
    body: (planter) => planter.nativeResponses(),
    seed: SEED + 100_000,
    rounds: 60,
    native: {
      dialect: "openai",
      api: "responses",
      says: (said, stream) =>
        stream
          ? nativeResponses.streamed(
              nativeResponses.nativeEvents([nativeResponses.streamedMessage(...(said.match(/[^]{1,97}/g) ?? []))])
            )
          : { json: nativeResponses.nativeResponse([nativeResponses.message(said)]) }
    }
  }
]
const ways = [
  { way: "whole", stream: false, share: 1 },
  { way: "streamed", stream: true, share: 1 / 4 }
]

it.live.each(forms.flatMap((form) => ways.map((way) => ({ ...form, ...way }))))(
  "$surface.name, $way",
  ({ body: bodyOf, native, rounds: count, seed, share, stream, surface }) =>
    Effect.gen(function* () {
      const chunks = [
        ...(everyPlaceholder.match(/[^]{1,97}/g) ?? []).map((content) => sse(chunkBody({ content }))),
        sse(chunkBody({}, "stop")),
        sse(usageChunkBody()),
        DONE
      ]
      const does =
        native?.says(everyPlaceholder, stream) ??
        (stream ? { chunks } : { json: chatBody({ content: everyPlaceholder }) })
      const { received, send } = yield* masking(`property-${surface.name}-${stream}`, does, native)
      const planters = rounds(seed + (stream ? 10_000 : 0), count * share)
      const told: Array<readonly [sent: string, content: string]> = []
      for (const [round, planter] of planters.entries()) {
        const body = { ...bodyOf(planter), stream }
        const { status, text } = yield* send(surface.path, body)
        assert.strictEqual(status, 200, `round ${round}: ${text.slice(0, 500)}`)
        told.push([JSON.stringify(body), surface.read(text).text])
      }
      const raws = yield* received
      assert.lengthOf(raws, planters.length)
      for (const [round, { planted }] of planters.entries()) {
        assert.isAbove(planted.length, 0)
        const [sent, content] = told[round] ?? ["", ""]
        assertHidden(raws[round] ?? "", planted, `round ${round}`)
        assertRestored(content, raws[round] ?? "", sent, planted, `round ${round}`)
      }
    }).pipe(Effect.scoped)
)

it.live("embeddings", () =>
  Effect.gen(function* () {
    const { received, send } = yield* masking(
      "property-embed",
      { json: embeddingsBody([[1], [1], [1], [1]]) },
      { embeddings: true }
    )
    const planters = rounds(SEED + 20_000, 40)
    for (const planter of planters) yield* send("/v1/embeddings", { ...planter.embeddings(), model: "test/small" })
    const raws = yield* received
    assert.lengthOf(raws, planters.length)
    for (const raw of raws) {
      for (const { planted } of planters) assertHidden(raw, planted, "embeddings")
    }
  }).pipe(Effect.scoped)
)

it.live("the preview", () =>
  Effect.gen(function* () {
    const { send } = yield* masking("property-preview", { json: chatBody() })
    for (const [round, planter] of rounds(SEED + 30_000, 60).entries()) {
      const messages = Array.from({ length: 2 }, () => planter.message())
      const { status, text } = yield* send("/v1/privacy/preview", { text: planter.text(), messages })
      assert.strictEqual(status, 200, text.slice(0, 500))
      assertHidden(text, planter.planted, `round ${round}`)
    }
  }).pipe(Effect.scoped)
)
