import { assert, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { beforeAll } from "vitest"
import {
  Counting,
  CountMemory,
  MAX_CACHED,
  TokenCounter,
  textsOf,
  TURN_CHARACTERS
} from "../../../src/gateway/tokens/TokenCounter.ts"
import { countPrompt, countText, loadTables } from "../../../src/gateway/tokens/Tokens.ts"
import { requestWith } from "../plans.ts"

beforeAll(() => Effect.runPromise(loadTables))

const texts = ["short", "A road is paid for at its gate. ".repeat(40), "Ein Weg wird am Tor bezahlt. ".repeat(40)]
const promptOf = (texts: ReadonlyArray<string>) => textsOf((count) => texts.reduce((sum, text) => sum + count(text), 0))
const never = () => false

it("counts the same the first time, the second time, and for another owner", () => {
  const memory = new CountMemory()
  for (const text of texts) {
    const exact = countText(text)
    assert.deepStrictEqual(
      [memory.count("a", text), memory.count("a", text), memory.count("b", text)],
      [exact, exact, exact]
    )
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

it("only a short prompt is counted at once", () => {
  const counts = Effect.runSync(Effect.provide(TokenCounter, TokenCounter.layer))
  const isCounted = (texts: ReadonlyArray<string>) => counts.promptOf("a", () => promptOf(texts)).isCounted
  assert.strictEqual(counts.promptOf("a", () => promptOf(["one two three"])).most, 3)
  assert.isFalse(isCounted(["toll ".repeat(900)]))
  assert.isFalse(isCounted(Array.from({ length: 200 }, () => "")))
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

/** A text to be remembered and its counter: the length, and how often it was called. */
const longText = (at: number) => `${at} `.padEnd(200, "toll ")
const counting = () => {
  const asked = { times: 0 }
  const memory = new CountMemory()
  const ask = (text: string, owner = "a") => memory.count(owner, text, (text) => ((asked.times += 1), text.length))
  return { asked, ask }
}

it("a long text is counted once for an owner, a short one each time", () => {
  const { ask, asked } = counting()
  const text = longText(0)
  assert.deepStrictEqual([ask(text), ask(text), asked.times], [200, 200, 1])
  assert.deepStrictEqual([ask(text, "b"), asked.times], [200, 2])
  assert.deepStrictEqual([ask("short"), ask("short"), asked.times], [5, 5, 4])
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
