/** The digests of tools in cache keys: they change no key, and are bounded. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { type ChatRequest } from "../../../src/domain/Chat.ts"
import { cacheKey, ToolDigests } from "../../../src/gateway/cache/CacheKey.ts"
import { chatPayload, receivedAs } from "../../support/receivedBody.ts"
import { oneTurn } from "../../support/turns.ts"

const description = "Reads a file of the repository. ".repeat(60)
const tool = (name: string, more = description) => ({
  type: "function",
  function: { name, description: more, parameters: { type: "object", properties: { path: { type: "string" } } } }
})
const toolsOf = (...names: ReadonlyArray<string>) => names.map((name) => tool(name))
const received = (tools: ReadonlyArray<unknown>, indent = 0) =>
  receivedAs(
    chatPayload,
    JSON.stringify({ model: "m", messages: [{ role: "user", content: "Hi" }], tools }, null, indent)
  ) as Effect.Effect<ChatRequest>
const keyOf = (request: ChatRequest, digests: ToolDigests, tenant = "key_1") =>
  Effect.runSync(cacheKey(tenant, "test/small", request, oneTurn, digests))

it.effect("remembered or not, and however it is written, a request has one key, and another one another", () =>
  Effect.gen(function* () {
    const digests = new ToolDigests()
    const tools = toolsOf("a", "b", "c", "d")
    const request = yield* received(tools)
    const key = keyOf(request, digests)
    assert.strictEqual(digests.size, 1)
    assert.strictEqual(keyOf(yield* received(tools), digests), key)
    assert.strictEqual(digests.size, 1)
    assert.strictEqual(
      keyOf({ ...request, tools: structuredClone(request.tools ?? null) }, digests),
      key,
      "no text is known"
    )
    assert.strictEqual(keyOf(yield* received(tools, 2), digests), key)
    const moved = tools.map(({ function: called, type }) => ({ function: called, type }))
    assert.strictEqual(keyOf(yield* received(moved), digests), key)
    const others = [toolsOf("a", "b", "d", "c"), toolsOf("a", "b", "c"), toolsOf("a", "b", "c", "d", "e"), []]
    const keys = [key, keyOf(request, digests, "key_2")]
    for (const other of others) keys.push(keyOf(yield* received(other), digests))
    assert.strictEqual(new Set(keys).size, keys.length)
  })
)

it.effect("remembered tools are not read again, but those of another tenant are", () =>
  Effect.gen(function* () {
    const asked: Array<string> = []
    class Known extends ToolDigests {
      override get(name: string) {
        asked.push(name)
        return "known"
      }
    }
    const digests = new Known()
    const [one, other] = [yield* received(toolsOf("a", "b", "c", "d")), yield* received(toolsOf("a", "b", "c", "x"))]
    assert.strictEqual(keyOf(one, digests), keyOf(other, digests))
    keyOf(one, digests, "key_2")
    assert.strictEqual(new Set(asked).size, 3)
  })
)

it.effect("the digests of few, short or very long lists are not remembered, and of others a bounded number", () =>
  Effect.gen(function* () {
    const digests = new ToolDigests(4)
    keyOf(yield* received(toolsOf("a", "b", "c")), digests)
    keyOf(yield* received(["a", "b", "c", "d"].map((name) => tool(name, "short"))), digests)
    keyOf(yield* received(["a", "b", "c", "d"].map((name) => tool(name, "x".repeat(140_000)))), digests)
    assert.strictEqual(digests.size, 0)
    for (let at = 0; at < 40; at++) {
      keyOf(yield* received(toolsOf("a", "b", "c", `d${at}`)), digests)
      assert.isAtMost(digests.size, 4)
    }
    assert.isAtLeast(digests.size, 2)
  })
)
