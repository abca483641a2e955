import { assert, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { beforeAll } from "vitest"
import {
  Counting,
  CountMemory,
  MAX_CACHED,
  TEXT_CHARACTERS,
  TokenCounter,
  textsOf,
  TURN_CHARACTERS
} from "../../../src/gateway/tokens/TokenCounter.ts"
import { boundOfPrompt } from "../../../src/gateway/tokens/PromptBounds.ts"
import { chatTexts, embeddingTexts } from "../../../src/gateway/tokens/RequestTexts.ts"
import { countPrompt, countText, loadTables } from "../../../src/gateway/tokens/Tokens.ts"
import { chatPayload, receivedAs } from "../../support/receivedBody.ts"
import { requestWith } from "../plans.ts"

beforeAll(() => Effect.runPromise(loadTables))

const texts = ["short", "A road is paid for at its gate. ".repeat(40), "Ein Weg wird am Tor bezahlt. ".repeat(40)]
const promptOf = (texts: ReadonlyArray<string>) => textsOf((count) => texts.reduce((sum, text) => sum + count(text), 0))
const never = () => false

it("counts the same the first time, the second time, and for another owner", () => {
  const { ask } = counting()
  for (const text of texts) {
    const exact = countText(text)
    assert.deepStrictEqual([ask(text), ask(text), ask(text, "b")], [exact, exact, exact])
  }
})

it.effect("a conversation counts the same at once, in turns, and from memory", () =>
  Effect.gen(function* () {
    const counts = yield* TokenCounter
    const turnOf = (times: number) =>
      texts
        .map((text) => ({ role: "user", content: [{ type: "text", text }] }) as const)
        .concat(
          Array.from(
            { length: times },
            () => ({ role: "user", content: [{ type: "text", text: "and again" }] }) as const
          )
        )
    for (const times of [0, 40, 400]) {
      const request = requestWith({
        messages: turnOf(times),
        tools: [{ type: "function", function: { name: texts[1] } }]
      })
      const prompt = textsOf((count) => countPrompt(request, count))
      const exact = countPrompt(request)
      assert.deepStrictEqual([yield* counts.count("a", prompt), yield* counts.count("a", prompt)], [exact, exact])
      const bounded = counts.promptOf("a", () => prompt)
      assert.isTrue(bounded.fewest <= exact && bounded.most >= exact)
      assert.deepStrictEqual([yield* bounded.count(), bounded.fewest, bounded.most], [exact, exact, exact])
    }
  }).pipe(Effect.provide(TokenCounter.layer))
)

it.effect("a prompt is bounded until something counts it, however short; token ids are exact", () =>
  Effect.gen(function* () {
    const counts = yield* TokenCounter
    for (const texts of [["one two three"], ["toll ".repeat(900)], Array.from({ length: 200 }, () => "a")]) {
      const prompt = counts.promptOf("a", () => promptOf(texts))
      const exact = texts.reduce((sum, text) => sum + countText(text), 0)
      assert.isFalse(prompt.isCounted)
      assert.isTrue(prompt.fewest <= exact && exact <= prompt.most)
      assert.deepStrictEqual([yield* prompt.count(), prompt.isCounted, prompt.most], [exact, true, exact])
    }
    const ids = counts.promptOf("a", () => embeddingTexts({ model: "m", input: [1, 2, 3] }))
    assert.deepStrictEqual([ids.isCounted, ids.most], [true, 3])
  }).pipe(Effect.provide(TokenCounter.layer))
)

/** Texts as short prompts hold them. */
const shortTexts = [
  "",
  "Hi",
  "Say OK.",
  " ",
  "\n",
  "2 + 2 = ?",
  "naïve café",
  "日本",
  "🙂",
  "\ud83d",
  "Привет!",
  '{"a":[1,2]}',
  "don't",
  "the quick brown fox",
  "XMLHttpRequest",
  "x".repeat(70),
  "SELECT * FROM t;",
  "!!!???",
  "مرحبا",
  "नमस्ते",
  "한국어"
]
const names = ["get_weather", "f", "search_the_web_for", "lookupOrderById", "büro"]

it.effect("a short prompt never has more tokens than its bound, with its messages, names and tools", () =>
  Effect.gen(function* () {
    const counts = yield* TokenCounter
    let state = 7
    const of = <A>(list: ReadonlyArray<A>): A =>
      list[(state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) % list.length] as A
    for (let round = 0; round < 400; round++) {
      const messages = Array.from({ length: of([1, 1, 2, 3, 6]) }, () => ({
        role: of(["user", "assistant", "system"] as const),
        content: of([of(shortTexts), of(shortTexts), [{ type: "text" as const, text: of(shortTexts) }]]),
        ...of([{}, {}, { name: of(names) }])
      }))
      const tool = {
        type: "function",
        function: { name: of(names), description: of(shortTexts), parameters: { type: "object", properties: {} } }
      } as const
      const request = requestWith({
        messages,
        ...of([{}, {}, { tools: [tool] }, { response_format: { type: "text" } }])
      })
      const prompt = counts.promptOf("a", () => chatTexts(request))
      const exact = countPrompt(request)
      assert.isTrue(prompt.fewest <= exact && exact <= prompt.most, JSON.stringify(request.messages))
    }
  }).pipe(Effect.provide(TokenCounter.layer))
)

/** Texts as long prompts hold them, some with as many tokens as bytes. */
const longTexts = [
  ...texts,
  "\u{2f000}".repeat(700),
  "\ud83d".repeat(900),
  "\u0001\u0002".repeat(600),
  '"\\/\n'.repeat(500),
  "東京都渋谷区".repeat(200),
  "🙂".repeat(800)
]
const escaped = (text: string) =>
  text.replace(/[^ -~]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`)

it.effect("a long prompt never has more tokens than its bytes, however its body is written", () =>
  Effect.gen(function* () {
    const counts = yield* TokenCounter
    let state = 7
    const next = (below: number) => ((state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) >>> 9) % below
    const of = <A>(list: ReadonlyArray<A>): A => list[next(list.length)] as A
    for (let round = 0; round < 40; round++) {
      const call = (at: number) => ({
        id: `call_${at}`,
        type: "function",
        function: { name: of(names), arguments: JSON.stringify({ path: of(longTexts) }) }
      })
      const messages = Array.from({ length: 2 + next(5) }, (_, at) =>
        of([
          { role: "user", content: of(longTexts) },
          { role: "user", content: [{ type: "text", text: of(longTexts) }], name: of(names) },
          { role: "assistant", content: null, tool_calls: [call(at)] },
          { role: "assistant", content: of(longTexts), reasoning: of(longTexts), reasoning_content: "the same" }
        ])
      )
      const parameters = { type: "object", properties: { path: { type: "string", description: of(longTexts) } } }
      const tools = Array.from({ length: 1 + next(4) }, () => ({
        type: "function",
        function: { name: of(names), description: of(longTexts), parameters }
      }))
      const body = { model: "test/small", messages, ...of([{}, { tools }, { tools }]) }
      // Numbers with an exponent are longer when they are written anew.
      const numbers = of(["", `,"numbers":[${"1e20,".repeat(9_000)}1]`])
      const json = of([JSON.stringify, (value: unknown) => escaped(JSON.stringify(value))])(body)
      const request = yield* receivedAs(chatPayload, `${json.slice(0, -1)}${numbers}}`)
      const exact = countPrompt(request)
      const prompt = counts.promptOf("a", (isRough) => chatTexts(request, isRough))
      assert.isTrue(prompt.fewest <= exact && exact <= prompt.most, json)
      prompt.bound()
      assert.isTrue(prompt.fewest <= exact && exact <= prompt.most && !prompt.isRough, json)
    }
  }).pipe(Effect.provide(TokenCounter.layer))
)

it.effect("of a long prompt the estimate is near the count, and images do not make its bound", () =>
  Effect.gen(function* () {
    const counts = yield* TokenCounter
    const tool = { type: "function", function: { name: "find", description: texts[1] } }
    const bodyWith = (content: unknown) =>
      JSON.stringify({
        model: "test/small",
        messages: [{ role: "user", content }],
        tools: Array.from({ length: 9 }, () => tool)
      })
    const prose = texts[1]?.repeat(20) ?? ""
    const image = { type: "image_url", image_url: { url: `data:image/png;base64,${"A".repeat(90_000)}` } }
    for (const content of [prose, [{ type: "text", text: prose }, image]]) {
      const request = yield* receivedAs(chatPayload, bodyWith(content))
      const exact = countPrompt(request)
      const prompt = counts.promptOf("a", (isRough) => chatTexts(request, isRough))
      assert.isTrue(prompt.isRough)
      assert.isAtMost(Math.abs(prompt.likely / exact - 1), 0.25)
      assert.isAtMost(prompt.most / exact, 5)
    }
  }).pipe(Effect.provide(TokenCounter.layer))
)

it("a text that is too long for the pass has no more tokens than its bound, rare characters cut in two included", () => {
  for (const text of [`a${"\u{2f000}".repeat(131_072)}`, "\u{2f000}a".repeat(90_000), "toll ".repeat(60_000)]) {
    const { fewest, likely, most } = boundOfPrompt(promptOf([text]))
    const exact = countText(text)
    assert.isTrue(fewest <= exact && exact <= most && likely <= most)
  }
})

/** A megabyte of each kind. */
const megabytes = {
  "letters without blanks": Array.from({ length: 65_536 }, (_, at) =>
    Math.imul(at + 7, 2_654_435_761)
      .toString(26)
      .padEnd(16, "q")
  ).join(""),
  blanks: " ".repeat(1_048_576),
  emoji: "🛣️🚧🎫".repeat(150_000),
  ideographs: "道路通行料金所".repeat(150_000)
}
const prompts = {
  ...Object.fromEntries(Object.entries(megabytes).map(([name, text]) => [name, [text]])),
  "tiny messages": Array.from({ length: 20_000 }, (_, at) => `${at} `.padEnd(150, "toll ")),
  "empty messages": Array.from({ length: 100_000 }, () => "")
}

it.each(Object.entries(prompts))("no turn counts more than its share of %s", (_, texts) => {
  const memory = new CountMemory()
  for (const round of ["counted", "remembered"]) {
    const counting = new Counting(memory, "a", promptOf(texts), Infinity)
    let [turns, spent] = [0, 0]
    for (let isOver = false; !isOver; turns++) {
      isOver = counting.turn(never)
      // The last step may exceed the turn by one slice or by the digest of one text.
      assert.isBelow(counting.spent, TURN_CHARACTERS + 512 + 32_768 + 64, round)
      spent += counting.spent
    }
    assert.isAtLeast(turns, Math.floor(spent / (TURN_CHARACTERS + 33_344)))
  }
})

it("a turn ends early when it is late, after one step at least", () => {
  const counting = new Counting(new CountMemory(), "a", promptOf(["toll ".repeat(1_000)]), Infinity)
  let turns = 1
  while (!counting.turn(() => true)) turns++
  assert.deepStrictEqual([turns, counting.tokens], [Math.ceil(5_000 / 510) + 1, 1_002])
})

it("stops counting at the limit", () => {
  const counting = new Counting(new CountMemory(), "a", promptOf(["toll ".repeat(200_000), "and more"]), 40_000)
  let spent = 0
  for (let isOver = false; !isOver; spent += counting.spent) isOver = counting.turn(never)
  assert.isAbove(counting.tokens, 40_000)
  assert.isBelow(counting.tokens, 40_600)
  assert.isBelow(spent, 40_000 * 5 + 1_024)
})

it.live("other work runs while a long prompt is counted, and two long prompts take turns", () =>
  Effect.gen(function* () {
    const counts = yield* TokenCounter
    const text = megabytes["letters without blanks"].slice(0, 262_144)
    let turns = 0
    const tick = () => {
      turns++
      handle = setImmediate(tick)
    }
    let handle = setImmediate(tick)
    const both = yield* Effect.all([counts.count("a", promptOf([text])), counts.count("b", promptOf([text]))], {
      concurrency: 2
    })
    clearImmediate(handle)
    assert.deepStrictEqual(both, [countText(text), countText(text)])
    assert.isAtLeast(turns, (2 * text.length) / (TURN_CHARACTERS + 512) - 2)
  }).pipe(Effect.provide(TokenCounter.layer))
)

it.effect("an interrupted count stops", () =>
  Effect.gen(function* () {
    const counts = yield* TokenCounter
    const counting = yield* Effect.forkChild(counts.count("a", promptOf([megabytes.ideographs])), {
      startImmediately: true
    })
    yield* Fiber.interrupt(counting)
    assert.strictEqual(yield* counts.count("a", promptOf(["toll ".repeat(1_000)])), 1_002)
  }).pipe(Effect.provide(TokenCounter.layer))
)

/** Counts texts, and how often one was not remembered. */
const counting = () => {
  const asked = { times: 0 }
  const memory = new CountMemory()
  const ask = (text: string, owner = "a") => {
    const one = new Counting(memory, owner, promptOf([text]), Infinity)
    let spent = 0
    for (let isOver = false; !isOver; spent += one.spent) isOver = one.turn(never)
    if (spent >= TEXT_CHARACTERS + text.length) asked.times++
    return one.tokens
  }
  return { asked, ask }
}
/** A text to be remembered. */
const longText = (at: number) => `${at} `.padEnd(200, "toll ")

it("a long text is counted once for an owner, a short one each time", () => {
  const { ask, asked } = counting()
  const text = longText(0)
  const exact = countText(text)
  assert.deepStrictEqual([ask(text), ask(text), asked.times], [exact, exact, 1])
  assert.deepStrictEqual([ask(text, "b"), asked.times], [exact, 2])
  assert.deepStrictEqual([ask("short"), ask("short"), asked.times], [1, 1, 4])
})

it("a text that recurs is remembered, others are forgotten", () => {
  const { ask, asked } = counting()
  let others = 0
  const askOthers = (times: number) => {
    for (const until = others + times; others < until;) ask(longText(++others))
  }
  ask(longText(0))
  for (let round = 0; round < 5; round++) {
    askOthers(MAX_CACHED / 2 - 1)
    ask(longText(0))
    assert.strictEqual(asked.times, others + 1)
  }
  askOthers(MAX_CACHED)
  ask(longText(0))
  assert.strictEqual(asked.times, others + 2)
})

it("short texts that do not recur do not displace a long one", () => {
  const { ask, asked } = counting()
  ask(longText(0))
  for (let at = 0; at <= MAX_CACHED; at++) ask(`once, and never again: ${at}`.padEnd(40, "."))
  assert.strictEqual(asked.times, MAX_CACHED + 2)
  ask(longText(0))
  assert.strictEqual(asked.times, MAX_CACHED + 2)
  ask("once, and never again: 0".padEnd(40, "."))
  assert.strictEqual(asked.times, MAX_CACHED + 3)
})
