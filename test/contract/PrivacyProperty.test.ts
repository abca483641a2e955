/**
 * Values planted in bodies of any shape, on every endpoint that forwards text. The provider
 * receives none of them except in the listed exempt places, and the client reads its own values
 * back.
 */
import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { type Dice, makeDice } from "../../scripts/privacyEval/Dice.ts"
import { valueOf } from "../../scripts/privacyEval/Values.ts"
import { defaultTimeouts, type ProviderConfig, unknownPolicy } from "../../src/domain/Catalog.ts"
import { allEntities } from "../../src/domain/Privacy.ts"
import { scriptedOffer } from "../../src/testing/ScriptedProvider.ts"
import { noPrivacy } from "../../src/settings/PrivacySection.ts"
import { read, useUpstream } from "../faults/gateway.ts"
import { TestApp } from "../support/TestApp.ts"
import { type Behaviour } from "../support/upstream/Behaviour.ts"
import { chatBody, chunkBody, DONE, embeddingsBody, sse, usageChunkBody } from "../support/upstream/Bodies.ts"

const SEED = 20_261_122

/** Makes bodies and records the values that it plants in them. */
class Planter {
  readonly planted: Array<string> = []
  readonly dice: Dice
  constructor(dice: Dice) {
    this.dice = dice
  }

  /** A text with a value between words. */
  text(): string {
    const { found, text } = valueOf(this.dice, this.dice.pick(allEntities))
    this.planted.push(found)
    return `${this.dice.pick(["", "to ", "Hi, "])}${text}${this.dice.pick(["", " please", "\nthanks"])}`
  }

  card(): number {
    this.planted.push("4111111111111111")
    return 4_111_111_111_111_111
  }

  /** Any value, nested to any depth. */
  value(depth = 0): unknown {
    const { dice } = this
    switch (dice.int(0, depth > 4 ? 3 : 6)) {
      case 0:
      case 1:
        return this.text()
      case 2:
        return this.card()
      case 3:
        return dice.pick([null, true, 12.5, 0, "", "nothing", "a word"])
      case 4:
        return Array.from({ length: dice.int(0, 3) }, () => this.value(depth + 1))
      default:
        return this.object(depth + 1)
    }
  }

  object(depth = 0): Record<string, unknown> {
    const names = [
      "data",
      "id",
      "signature",
      "type",
      "name",
      "title",
      "content",
      "file",
      "source",
      "x-note",
      "__proto__"
    ]
    const count = this.dice.int(1, 4)
    return Object.fromEntries(
      Array.from({ length: count }, () => [
        this.dice.chance(0.2) ? this.text() : this.dice.pick(names),
        this.value(depth + 1)
      ])
    )
  }

  part(): Record<string, unknown> {
    const { dice } = this
    const type = dice.pick([
      "text",
      "document",
      "tool_result",
      "thinking",
      "image_url",
      "file",
      "input_audio",
      "odd",
      ""
    ])
    const known = {
      text: { text: this.text() },
      thinking: { thinking: this.text(), signature: this.text() },
      image_url: { image_url: { url: `https://example.com/${dice.int(1, 9)}.png`, note: this.text() } },
      file: { file: { filename: this.text(), file_data: this.text() } },
      input_audio: { input_audio: { data: this.text(), format: "wav" } },
      tool_result: {
        tool_use_id: this.text(),
        content: dice.chance(0.5) ? this.text() : [{ type: "text", text: this.text() }]
      }
    }
    return {
      ...(type === "" ? {} : { type }),
      ...known[type as keyof typeof known],
      ...(dice.chance(0.5) ? this.object() : {})
    }
  }

  message(): Record<string, unknown> {
    const { dice } = this
    const content = () => (dice.chance(0.5) ? this.text() : Array.from({ length: dice.int(1, 3) }, () => this.part()))
    switch (dice.pick(["system", "user", "assistant", "tool"])) {
      case "assistant":
        return {
          role: "assistant",
          content: content(),
          tool_calls: [
            {
              id: `call_${dice.int(1, 9)}`,
              type: "function",
              function: { name: "f", arguments: JSON.stringify(this.object()), note: this.value() }
            }
          ],
          ...(dice.chance(0.5) ? { reasoning_details: [this.object()], anything: this.value() } : {})
        }
      case "tool":
        return {
          role: "tool",
          tool_call_id: `call_${dice.int(1, 9)}`,
          content: dice.chance(0.5) ? JSON.stringify(this.object()) : content()
        }
      default:
        return {
          role: dice.pick(["system", "user"]),
          content: content(),
          ...(dice.chance(0.3) ? { name: this.text() } : {})
        }
    }
  }

  chat(): Record<string, unknown> {
    const { dice } = this
    return {
      model: "test/small",
      messages: Array.from({ length: dice.int(1, 4) }, () => this.message()),
      ...(dice.chance(0.5) ? { user: this.text(), metadata: this.object() } : {}),
      ...(dice.chance(0.5) ? { stop: [this.text()], documents: [this.object()] } : {}),
      ...(dice.chance(0.5)
        ? { response_format: { type: "json_schema", json_schema: { name: "n", schema: this.object() } } }
        : {}),
      ...(dice.chance(0.5)
        ? {
            tools: [{ type: "function", function: { name: "f", description: this.text(), parameters: this.object() } }]
          }
        : {}),
      ...(dice.chance(0.5) ? { prediction: { type: "content", content: this.text() }, logit_bias: this.object() } : {})
    }
  }

  embeddings(): Record<string, unknown> {
    return {
      model: "test/embed",
      input: Array.from({ length: 4 }, () => this.text()),
      user: this.text(),
      own: this.value()
    }
  }
}

const upstream = useUpstream()

/** A gateway that masks, in front of a provider that always behaves the same. */
const masking = Effect.fnUntraced(function* (name: string, does: Behaviour, embeddings = false) {
  yield* Effect.promise(() => upstream().script(name, does))
  const provider: ProviderConfig = {
    slug: "alpha",
    name: "alpha",
    dialect: "openai",
    baseUrl: upstream().url,
    apiKey: Redacted.make("sk-of-the-provider"),
    auth: { type: "bearer" },
    headers: {},
    query: {},
    dataPolicy: unknownPolicy,
    timeouts: { ...defaultTimeouts, firstTokenMs: 30_000, idleMs: 30_000 },
    models: [{ ...scriptedOffer("test/small"), upstream: name, embeddings }]
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
  "type"
])
const keptOfDetail = new Set(["id", "signature", "data", "type"])

/** A copy without the exempt places: of parts, nested parts and reasoning details. */
const without = (kept: ReadonlySet<string>) => {
  const strip = (item: unknown): unknown =>
    isMembers(item)
      ? Object.fromEntries(
          Object.entries(item)
            .filter(([name]) => !kept.has(name))
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

for (const stream of [false, true]) {
  it.live(`chat, ${stream ? "streamed" : "whole"}`, () =>
    Effect.gen(function* () {
      const chunks = [
        ...(everyPlaceholder.match(/[^]{1,97}/g) ?? []).map((content) => sse(chunkBody({ content }))),
        sse(chunkBody({}, "stop")),
        sse(usageChunkBody()),
        DONE
      ]
      const does = stream ? { chunks } : { json: chatBody({ content: everyPlaceholder }) }
      const { received, send } = yield* masking(`property-${stream}`, does)
      const planters = rounds(SEED + (stream ? 10_000 : 0), stream ? 30 : 120)
      const told: Array<readonly [sent: string, content: string]> = []
      for (const [round, planter] of planters.entries()) {
        const body = { ...planter.chat(), stream }
        const { status, text } = yield* send("/v1/chat/completions", body)
        assert.strictEqual(status, 200, `round ${round}: ${text.slice(0, 500)}`)
        told.push([JSON.stringify(body), read(text).content])
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
}

it.live("embeddings", () =>
  Effect.gen(function* () {
    const { received, send } = yield* masking("property-embed", { json: embeddingsBody([[1], [1], [1], [1]]) }, true)
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
