/** Whatever is read without parsing is what parsing would have read. */
import { assert, describe, it } from "@effect/vitest"
import { type ChatEvent } from "../../../src/domain/Chat.ts"
import { AlikeChunks } from "../../../src/providers/openai/AlikeChunks.ts"
import { makeReader } from "../../../src/providers/openai/Stream.ts"

interface Chunk {
  readonly choices: ReadonlyArray<{ readonly delta: { readonly content: string } }>
}

const chunk = (content: string, more: object = {}): string =>
  JSON.stringify({ id: "c1", model: "hi", choices: [{ index: 0, delta: { content }, finish_reason: null }], ...more })
const textOf = (parsed: unknown): unknown => (parsed as Chunk | undefined)?.choices[0]?.delta.content

const taught = (content: string, data = chunk(content)) => {
  const alike = new AlikeChunks()
  return { alike, learned: alike.learn(data, content, textOf) }
}

const texts = [
  "hi",
  " there",
  "größer",
  "日本",
  "🙂",
  'say "no"',
  "a\nb",
  "\\",
  "\u2028",
  "\u0001",
  ",",
  "{}",
  '"',
  "x".repeat(9_000)
]

describe("AlikeChunks", () => {
  it.each(["hello", " there", ":", ","])("learns from %j, and reads every text as JSON does", (content) => {
    const { alike, learned } = taught(content)
    assert.isTrue(learned || content === "," || content === ":")
    for (const text of texts) {
      if (learned) assert.strictEqual(alike.textOf(chunk(text)), text)
      else assert.isNull(alike.textOf(chunk(text)))
    }
  })

  it("is not misled by the same words elsewhere", () => {
    // The model's name comes first.
    assert.isFalse(taught("hi").learned)
    const reversed = JSON.stringify({ choices: [{ delta: { content: "hi" } }], model: "hi" })
    const { alike, learned } = taught("hi", reversed)
    assert.isTrue(learned)
    assert.strictEqual(alike.textOf(reversed.replace('"content":"hi"', '"content":"ho"')), "ho")
    assert.isNull(alike.textOf(reversed.replace('"model":"hi"', '"model":"ho"')))
  })

  it("says nothing of chunks that are not alike, or are no JSON", () => {
    const { alike } = taught(" there")
    assert.strictEqual(alike.textOf(chunk("more")), "more")
    assert.isNull(alike.textOf(chunk("more", { usage: null })))
    assert.isNull(alike.textOf(chunk("")))
    assert.isNull(alike.textOf(chunk("more").slice(0, -1)))
    assert.isNull(alike.textOf(chunk("more").replace("more", 'more","refusal":"no')))
    assert.isNull(alike.textOf(chunk("more").replace("more", "mo\\qre")))
    assert.isNull(alike.textOf(chunk("more").replace("more", "mo\nre")))
    assert.isNull(alike.textOf("[DONE]"))
  })

  it("gives up on a vendor whose chunks are never alike", () => {
    const alike = new AlikeChunks()
    let asked = 0
    for (let at = 0; at < 100; at++) {
      alike.learn(chunk(" there"), " there", (parsed) => {
        asked++
        return parsed
      })
    }
    assert.strictEqual(asked, 8)
  })
})

describe("a stream of alike chunks", () => {
  const said = (frames: ReadonlyArray<string>, asked = 1): ReadonlyArray<ChatEvent> => {
    const reader = makeReader(asked, () => "call")
    const out: Array<ChatEvent> = []
    for (const frame of frames) assert.isNull(reader.step(frame, out))
    return out
  }
  const begin = JSON.stringify({ choices: [{ index: 0, delta: { role: "assistant", content: "" } }] })

  /** Each frame as it is read after nothing but the beginning: no lesson before it. */
  const parsed = (frames: ReadonlyArray<string>) => [
    ...said([begin]),
    ...frames.flatMap((frame) => said([begin, frame]).slice(1))
  ]

  const shapes: Readonly<Record<string, object>> = {
    "of OpenAI": { logprobs: null },
    "of a vendor that repeats its role": { delta: { role: "assistant" } },
    "with members that say nothing": { delta: { refusal: null, reasoning_content: null, tool_calls: null } },
    "with log probabilities": { logprobs: { content: [] } },
    "with a thought beside": { delta: { reasoning: "hm" } }
  }
  it.each(Object.entries(shapes))(
    "%s reads as if each chunk were parsed",
    (_, { delta, ...choice }: { delta?: object }) => {
      const frames = texts.map((content) =>
        JSON.stringify({
          id: "c1",
          choices: [{ index: 0, delta: { ...delta, content }, ...choice, finish_reason: null }],
          usage: null
        })
      )
      assert.deepStrictEqual(said([begin, ...frames]), parsed(frames))
      assert.strictEqual(JSON.stringify(said([begin, ...frames])), JSON.stringify(parsed(frames)))
    }
  )

  it("takes the finish reason, the usage and what follows as ever", () => {
    const frames = [chunk(" a"), chunk(" b"), chunk(" c")]
    const last = JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] })
    const usage = { prompt_tokens: 1, completion_tokens: 3 }
    const reader = makeReader(1, () => "call")
    const out: Array<ChatEvent> = []
    for (const frame of [begin, ...frames, last, chunk(" d")]) reader.step(frame, out)
    reader.step(JSON.stringify({ choices: [], usage }), out)
    assert.isTrue(reader.isDone())
    const texts = out.flatMap((event) =>
      event._tag === "Choices" ? event.choices.map(({ delta }) => delta.content) : []
    )
    assert.deepStrictEqual(texts, ["", " a", " b", " c", " d"])
    assert.deepInclude((reader.close() as ReadonlyArray<ChatEvent>).at(-1), {
      usage: { promptTokens: 1, completionTokens: 3, cachedTokens: 0 }
    })
  })
})
