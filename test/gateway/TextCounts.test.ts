import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { beforeAll } from "vitest"
import { countFor, MOST_REMEMBERED } from "../../src/gateway/TextCounts.ts"
import { countPrompt, countText, loadTables } from "../../src/gateway/Tokens.ts"
import { requestWith } from "./orders.ts"

beforeAll(() => Effect.runPromise(loadTables))

const texts = ["short", "A road is paid for at its gate. ".repeat(40), "Ein Weg wird am Tor bezahlt. ".repeat(40)]

it("counts the same the first time, the second, and for another owner", () => {
  for (const text of texts) {
    const exact = countText(text)
    assert.deepStrictEqual([countFor("a")(text), countFor("a")(text), countFor("b")(text)], [exact, exact, exact])
  }
})

it("a conversation counts the same with a memory as without one", () => {
  const messages = texts.map((content) => ({ role: "user", content: [{ type: "text", text: content }] }) as const)
  const request = requestWith({ messages, tools: [{ type: "function", function: { name: texts[1] } }] })
  const count = countFor("c")
  assert.deepStrictEqual(
    [countPrompt(request, count), countPrompt(request, count)],
    [countPrompt(request), countPrompt(request)]
  )
})

/** A text to be remembered, and what counts it: the length, and how often it was asked. */
const longText = (at: number) => `${at} `.padEnd(200, "toll ")
const counting = () => {
  const asked = { times: 0 }
  return { asked, count: (text: string) => ((asked.times += 1), text.length) }
}

it("a long text is counted once for an owner, a short one each time", () => {
  const { asked, count } = counting()
  const text = longText(0)
  assert.deepStrictEqual([countFor("d", count)(text), countFor("d", count)(text), asked.times], [200, 200, 1])
  assert.deepStrictEqual([countFor("e", count)(text), asked.times], [200, 2])
  assert.deepStrictEqual([countFor("e", count)("short"), countFor("e", count)("short"), asked.times], [5, 5, 4])
})

it("what is asked for from time to time is remembered, what is not is forgotten", () => {
  const { asked, count } = counting()
  const ask = countFor("f", count)
  let others = 0
  const askOthers = (times: number) => {
    for (const until = others + times; others < until;) ask(longText(++others))
  }
  ask(longText(0))
  for (let round = 0; round < 5; round++) {
    askOthers(MOST_REMEMBERED / 2 - 1)
    ask(longText(0))
    assert.strictEqual(asked.times, others + 1)
  }
  askOthers(MOST_REMEMBERED)
  ask(longText(0))
  assert.strictEqual(asked.times, others + 2)
})

it("short texts that are never sent again push no long one out", () => {
  const { asked, count } = counting()
  const ask = countFor("g", count)
  ask(longText(0))
  for (let at = 0; at <= MOST_REMEMBERED; at++) ask(`once, and never again: ${at}`.padEnd(40, "."))
  assert.strictEqual(asked.times, MOST_REMEMBERED + 2)
  ask(longText(0))
  assert.strictEqual(asked.times, MOST_REMEMBERED + 2)
  ask("once, and never again: 0".padEnd(40, "."))
  assert.strictEqual(asked.times, MOST_REMEMBERED + 3)
})
