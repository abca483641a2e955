import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { countTokens } from "gpt-tokenizer/encoding/o200k_base"
import { beforeAll } from "vitest"
import { prose } from "../../../scripts/bench/prose.ts"
import {
  countInputs,
  countPrompt,
  countReply,
  countText,
  loadTables,
  OutputCounter
} from "../../../src/gateway/tokens/Tokens.ts"
import { requestWith } from "../plans.ts"

beforeAll(() => Effect.runPromise(loadTables))

it("counts what o200k_base counts", () => {
  assert.strictEqual(countText(""), 0)
  assert.strictEqual(countText("Hi"), 1)
  assert.strictEqual(countText("one two three"), 3)
  assert.strictEqual(countText("<|endoftext|>"), 7, "a special token's name is text")
})

it("a run of spaces counts in proportion to its length", () => {
  assert.strictEqual(countText(" ".repeat(1_048_576)), 16 * countText(" ".repeat(65_536)))
})

it("slices do not cut words, and without words add a few per cent at most", () => {
  const words = Array.from({ length: 5_000 }, (_, at) => ["alpha", "routes", "every", "request"][at % 4])
  assert.strictEqual(countText(words.join(" ")), 5_000)
  const counter = new OutputCounter()
  for (const [at, word] of words.entries()) {
    counter.add([{ index: 0, delta: { content: at === 0 ? `${word}` : ` ${word}` }, finish_reason: null }])
    if (at % 37 === 0) counter.count()
  }
  assert.strictEqual(counter.count(), 5_000, "as it comes, and looked at in between")
  // Counted in one slice and in many.
  const exact = 100 * countText("routesevery".repeat(40))
  assert.approximately(countText("routesevery".repeat(4_000)), exact, exact * 0.02)
})

it("a prompt: 3, and 3 and its content for every message; tools and calls as their JSON", () => {
  assert.strictEqual(countPrompt(requestWith()), 7)
  assert.strictEqual(countPrompt(requestWith({ messages: [{ role: "user", content: "" }] })), 6)
  const content = [
    { type: "text", text: "one two three" },
    { type: "text", text: "Hi", cache_control: { type: "x" } }
  ]
  assert.strictEqual(countPrompt(requestWith({ messages: [{ role: "user", content }] })), 6 + 4)
  const calls = [{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }]
  assert.strictEqual(
    countPrompt(requestWith({ messages: [{ role: "assistant", content: null, tool_calls: calls }] })),
    6 + countText(JSON.stringify(calls))
  )
  assert.strictEqual(countPrompt(requestWith({ tools: calls })), 7 + countText(JSON.stringify(calls)))
})

it("a reply of 30 MB is estimated from its beginning", () => {
  const content = "one two three ".repeat(2_200_000)
  const message = { role: "assistant" as const, content, reasoning: content }
  const tokens = countReply({
    choices: [{ index: 0, message, finish_reason: "stop" }],
    usage: null,
    systemFingerprint: null
  })
  assert.approximately(tokens, 2 * 3 * 2_200_000, 0.01 * 2 * 3 * 2_200_000)
})

/** Some 200 kB of words. */
const long = "every word of it counts ".repeat(8_192)

it.each<readonly [string, object]>([
  ["functions", { functions: [{ name: "f", description: long }] }],
  ["response_format", { response_format: { type: "json_schema", json_schema: { schema: { description: long } } } }],
  ["prediction", { prediction: { type: "content", content: long } }],
  ["stop", { stop: [long] }],
  ["reasoning", { messages: [{ role: "assistant", content: "", reasoning: long }] }],
  ["name", { messages: [{ role: "user", content: "", name: long }] }],
  ["function_call", { messages: [{ role: "assistant", content: "", function_call: { arguments: long } }] }],
  ["an unknown part", { messages: [{ role: "user", content: [{ type: "document", source: { data: long } }] }] }],
  ["a member beside a text", { messages: [{ role: "user", content: [{ type: "text", text: "", title: long }] }] }],
  ["an unknown member", { instructions: long }],
  [
    "a file that is text",
    { messages: [{ role: "user", content: [{ type: "file", file: { file_data: `data:text/plain;base64,${long}` } }] }] }
  ]
])("a prompt counts at least a token for four bytes of %s", (_name, request) => {
  const tokens = countPrompt(requestWith(request))
  assert.isAtLeast(tokens, long.length / 6, "words of five letters are a token")
  assert.isAtMost(tokens, long.length / 3)
})

it.each<readonly [string, object, number]>([
  ["an image", { image_url: { url: "data:" } }, 1_445],
  ["an image in low detail", { image_url: { url: "data:", detail: "low" } }, 85],
  ["sound", { input_audio: { data: "A".repeat(128_000), format: "mp3" } }, 1_000],
  ["a PDF", { file: { file_data: `data:application/pdf;base64,${"A".repeat(63_972)}` } }, 2_000],
  ["base64 in an unknown part", { video: { data: "A".repeat(64_000) } }, 2_000],
  ["a number", { x: 1 }, 0]
])("%s counts by its length, or a flat rate", (_name, part, tokens) => {
  const request = requestWith({ messages: [{ role: "user", content: [{ type: "x", ...part }] }] })
  assert.approximately(countPrompt(request), 6 + tokens, 8)
})

it("options of the gateway and of sampling are not part of the prompt", () => {
  const steering = {
    user: long,
    metadata: { a: long },
    models: [long],
    provider: { order: [long], allow_fallbacks: true },
    reasoning_effort: "low",
    service_tier: "auto",
    temperature: 1,
    n: 2,
    seed: 3,
    stop: null
  }
  assert.strictEqual(countPrompt(requestWith(steering)), 7)
})

it("inputs of embeddings, one or many", () => {
  assert.strictEqual(countInputs("one two three"), 3)
  assert.strictEqual(countInputs(["one two three", "", "Hi"]), 4)
})

it("a streamed output counts like the whole, also beyond the held text", () => {
  const counter = new OutputCounter()
  const content = (text: string) => counter.add([{ index: 0, delta: { content: text }, finish_reason: null }])
  assert.strictEqual(counter.count(), 0)
  content("one ")
  content("two three")
  assert.strictEqual(counter.count(), 3)
  assert.strictEqual(counter.count(), 3, "counting twice adds nothing")
  for (let at = 0; at < 2_000; at++) content(" routes every request through here".repeat(2))
  // A running count is cut into pieces, which adds a little.
  assert.isAtLeast(counter.count(), 3 + 20_000)
  assert.isAtMost(counter.count(), (3 + 20_000) * 1.02)
  counter.add([
    { index: 0, delta: { reasoning: "Hi", refusal: "Hi" }, finish_reason: null },
    { index: 1, delta: { tool_calls: [{ index: 0, function: { name: "Hi", arguments: "Hi" } }] }, finish_reason: null }
  ])
  assert.isAtLeast(counter.count(), 3 + 20_000 + 1)
})

it("a whole reply: content, reasoning, refusal and calls of every choice", () => {
  const message = { role: "assistant" as const, content: "one two three", reasoning: "Hi", refusal: "Hi" }
  const calls = [{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }]
  const reply = {
    choices: [
      { index: 0, message, finish_reason: "stop" },
      {
        index: 1,
        message: { role: "assistant" as const, content: null, tool_calls: calls },
        finish_reason: "tool_calls"
      }
    ],
    usage: null,
    systemFingerprint: null
  }
  assert.strictEqual(countReply(reply), 5 + countText(JSON.stringify(calls[0]?.function)))
})

/** The encoding itself, without slices: slow on long runs, exact. */
const exactly = (text: string): number => countTokens(text, { disallowedSpecial: new Set() })

it.each([
  ["prose", prose(60_000)],
  [
    "code",
    "export const computeTheBudgetOfAKey = (options: Options): Promise<number> => client.resolve(options)\n".repeat(200)
  ],
  [
    "chinese",
    "人工智能是计算机科学的一个分支，它企图了解智能的实质，并生产出一种新的能以人类智能相似的方式做出反应的智能机器。".repeat(
      100
    )
  ],
  [
    "japanese",
    "人工知能とは、計算という概念とコンピュータという道具を用いて知能を研究する計算機科学の一分野を指す語である。".repeat(
      100
    )
  ],
  [
    "german",
    "Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz und Donaudampfschifffahrtsgesellschaft ".repeat(
      100
    )
  ],
  ["base64", Buffer.from(prose(20_000)).toString("base64")],
  ["drawn lines", `${"-".repeat(80)}\n| a | b |\n${"=".repeat(60)}\n`.repeat(100)]
])("%s counts within one per cent of the encoding", (_, text) => {
  const exact = exactly(text)
  assert.approximately(countText(text), exact, Math.ceil(exact * 0.01))
})

it.each([
  ["letters", 26, 97],
  ["ideographs", 20_000, 0x4e00],
  ["symbols", 14, 33],
  ["emoji", 64, 0x1f600],
  ["marks", 100, 0x300]
])("a run of %s without an end counts at most three per cent too much, and never too little", (_, size, from) => {
  let state = 1
  const next = () => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0)
  const text = String.fromCodePoint(...Array.from({ length: 3_000 }, () => from + ((next() >>> 8) % size)))
  const exact = exactly(text)
  assert.isAtLeast(countText(text), exact)
  assert.isAtMost(countText(text), exact * 1.03)
})

it("a text counts the same after many others", () => {
  const before = countText("Donaudampfschifffahrtsgesellschaft")
  for (let at = 0; at < 200; at++) countText(prose(1_000, at))
  assert.strictEqual(countText("Donaudampfschifffahrtsgesellschaft"), before)
})

it("counts the calls of an older kind and spoken answers, whole and as they come", () => {
  const called = { name: "get_weather", arguments: '{"city":"Rome"}' }
  const audio = { id: "audio_1", data: "UklGRg==", transcript: "It is sunny in Rome." }
  const tokens = countText(called.name) + countText(called.arguments) + countText(audio.transcript)
  const message = { role: "assistant" as const, content: null, function_call: called, audio }
  const choices = [{ index: 0, message, finish_reason: "stop" }]
  assert.strictEqual(countReply({ choices, usage: null, systemFingerprint: null }), tokens)
  const counter = new OutputCounter()
  const pieces = [
    { function_call: { name: called.name } },
    { function_call: { arguments: called.arguments } },
    { audio }
  ]
  for (const delta of pieces) counter.add([{ index: 0, delta, finish_reason: null }])
  assert.approximately(counter.count(), tokens, 2)
})

it("counts the calls of custom tools as they come", () => {
  const input = "one two three "
  const counter = new OutputCounter()
  const piece = (custom: object) =>
    counter.add([{ index: 0, delta: { tool_calls: [{ index: 0, custom }] }, finish_reason: null }])
  piece({ name: "sh", input: "" })
  for (let at = 0; at < 100; at++) piece({ input })
  assert.approximately(counter.count(), countText("sh") + countText(input.repeat(100)), 4)
})
