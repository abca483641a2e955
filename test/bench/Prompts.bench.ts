/**
 * What reads a whole prompt: each function at a kilobyte, ten, a hundred, and a megabyte, on prose
 * and on what readers are slow on.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { awkward, prose } from "../../scripts/bench/prose.ts"
import { ChatRequest } from "../../src/domain/Chat.ts"
import { parseJson } from "../../src/domain/json/Json.ts"
import { allEntities } from "../../src/domain/Privacy.ts"
import { cacheKey, ToolDigests } from "../../src/gateway/cache/CacheKey.ts"
import { runAtOnce, TimeBudget } from "../../src/gateway/privacy/TimeBudget.ts"
import { mask } from "../../src/gateway/privacy/Masking.ts"
import { makeScanner } from "../../src/gateway/privacy/Scanner.ts"
import { Counting, CountMemory, textsOf } from "../../src/gateway/tokens/TokenCounter.ts"
import { countPrompt, loadTables } from "../../src/gateway/tokens/Tokens.ts"
import { JsonShape } from "../../src/domain/json/JsonShape.ts"
import { oneTurn } from "../support/turns.ts"
import { growth } from "./growth.ts"

const decode = Schema.decodeUnknownSync(Schema.toCodecJson(ChatRequest))
const request = (text: string): ChatRequest =>
  decode({ model: "bench/model", messages: [{ role: "user", content: text }], temperature: 0.7 })
const scan = await Effect.runPromise(makeScanner([]))
await Effect.runPromise(loadTables)
const wanted = new Set<string>(allEntities)
/** Without a limit: the guard itself would stop after a while. */
const masked = (target: ChatRequest) => {
  const budget = new TimeBudget(() => process.hrtime.bigint(), 3_600_000)
  return runAtOnce(mask(target, scan, wanted, budget), budget)
}

const texts = { prose, ...awkward }

for (const [kind, text] of Object.entries(texts)) {
  describe(kind, () => {
    it("the look before the parse", async ({ bench }) => {
      const found = await growth(bench, (size) => {
        const body = Buffer.from(JSON.stringify(request(text(size))))
        return () => new JsonShape().take(body)
      })
      assert.strictEqual(found, "linear")
    })

    it("parse and schema", async ({ bench }) => {
      const found = await growth(bench, (size) => {
        const body = JSON.stringify(request(text(size)))
        return () => decode(parseJson(body))
      })
      assert.strictEqual(found, "linear")
    })

    it("tokens", async ({ bench }) => {
      const found = await growth(bench, (size) => {
        const asked = request(text(size))
        return () => countPrompt(asked)
      })
      assert.strictEqual(found, "linear")
    })

    it("canonical key", async ({ bench }) => {
      const found = await growth(bench, (size) => {
        const asked = request(text(size))
        return () => Effect.runSync(cacheKey("key_bench", "bench/model", asked, oneTurn, new ToolDigests()))
      })
      assert.strictEqual(found, "linear")
    })

    it("privacy guard", async ({ bench }) => {
      const found = await growth(bench, (size) => {
        const asked = request(text(size))
        return () => masked(asked)
      })
      assert.strictEqual(found, "linear")
    })
  })
}

/** The longest time for which nobody else is served while a megabyte is counted. */
describe("turns of a megabyte", () => {
  const letters = Array.from({ length: 131_072 }, (_, at) =>
    Math.imul(at + 7, 2_654_435_761)
      .toString(26)
      .slice(-8)
  )
  const megabytes = {
    prose: [prose(1_000_000)],
    "letters without blanks": [letters.join("")],
    ...Object.fromEntries(Object.entries(awkward).map(([kind, text]) => [kind, [text(1_000_000)]])),
    emoji: ["🛣️🚧🎫".repeat(140_000)],
    "tiny messages": Array.from({ length: 20_000 }, (_, turn) => prose(50, turn + 1))
  }
  for (const [kind, texts] of Object.entries(megabytes)) {
    it(kind, () => {
      const asked = textsOf((count) => texts.reduce((sum, text) => sum + count(text), 0))
      const counting = new Counting(new CountMemory(), "key_bench", asked, Infinity)
      let [longest, turns] = [0, 0]
      for (let isOver = false; !isOver; turns++) {
        // The processor's time of this thread: what else runs on the machine does not count.
        const before = process.threadCpuUsage()
        const spentMs = () => process.threadCpuUsage(before).user / 1_000
        isOver = counting.turn(() => spentMs() >= 4)
        longest = Math.max(longest, spentMs())
      }
      process.stdout.write(`${kind}: ${turns} turns, the longest ${longest.toFixed(1)} ms\n`)
      assert.isBelow(longest, 100)
    })
  }
})

describe("many messages", () => {
  /** A conversation of turns of a hundred characters. */
  const conversation = (size: number): ChatRequest =>
    decode({
      model: "bench/model",
      messages: Array.from({ length: size / 100 }, (_, turn) => ({
        role: turn % 2 === 0 ? "user" : "assistant",
        content: prose(100, turn + 1)
      }))
    })

  it("parse and schema", async ({ bench }) => {
    const found = await growth(bench, (size) => {
      const body = JSON.stringify(conversation(size))
      return () => decode(parseJson(body))
    })
    assert.strictEqual(found, "linear")
  })

  it("tokens", async ({ bench }) => {
    const found = await growth(bench, (size) => {
      const asked = conversation(size)
      return () => countPrompt(asked)
    })
    assert.strictEqual(found, "linear")
  })

  it("canonical key", async ({ bench }) => {
    const found = await growth(bench, (size) => {
      const asked = conversation(size)
      return () => Effect.runSync(cacheKey("key_bench", "bench/model", asked, oneTurn, new ToolDigests()))
    })
    assert.strictEqual(found, "linear")
  })

  it("privacy guard", async ({ bench }) => {
    const found = await growth(bench, (size) => {
      const asked = conversation(size)
      return () => masked(asked)
    })
    assert.strictEqual(found, "linear")
  })
})
