/** The text of a value is kept only if it means what the value is. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { takeText } from "../../../src/domain/json/SentText.ts"
import { chatPayload, receivedAs } from "../../support/receivedBody.ts"

const long = "A road is paid for by those who use it. ".repeat(150)
const body = (members: string) => `{"model":"test/small",${members}}`
const messages = (more = "") => `"messages":[{"role":"user","content":${JSON.stringify(long)}${more}}]`

/** The text that is kept of a member, of a body in packets of different sizes. */
const keptOf = (name: string, text: string) =>
  Effect.map(
    Effect.forEach([1, 7, 64, 4_096, 1e9], (size) => receivedAs(chatPayload, text, size)),
    (all) => {
      const texts = all.map((request) => takeText((request as Readonly<Record<string, unknown>>)[name])?.toString())
      assert.lengthOf(new Set(texts), 1)
      return texts[0]
    }
  )

describe("SentText", () => {
  it.effect("keeps the text of long lists and objects, as it was written, and gives it once", () =>
    Effect.gen(function* () {
      const list = `[ {"content" :${JSON.stringify(long)}, "role":"us\\u0065r", "é": [ ] } ]`
      const text = `\ufeff {"temperature":1e0, "tools":[], "messages":${list}, "metadata":{"a":1}, "model":"m"}`
      const request = yield* receivedAs(chatPayload, text.slice(1))
      assert.strictEqual(takeText(request.messages)?.toString(), list)
      assert.isUndefined(takeText(request.messages))
      assert.isUndefined(takeText(request.tools))
      assert.isUndefined(takeText(request.metadata))
    })
  )

  it.effect("keeps none that repeats a name, at any depth, and none of a body that does", () =>
    Effect.gen(function* () {
      assert.isDefined(yield* keptOf("messages", body(messages(',"name":"ann"'))))
      for (const more of [
        ',"role":"user"',
        ',"x":{"a":1,"a":1}',
        ',"x":[{"a":{"b":1},"a":{"b":1}}]',
        ',"\\u0072ole":"user"'
      ])
        assert.isUndefined(yield* keptOf("messages", body(messages(more))), more)
      assert.isUndefined(yield* keptOf("messages", body(`${messages()},"model":"test/small"`)))
      assert.isUndefined(yield* keptOf("messages", body(`${messages()},${messages()}`)))
      assert.isUndefined(yield* keptOf("messages", body(`${messages()},"messages":[{"role":"user","content":"Hi"}]`)))
    })
  )

  it.effect("keeps none of a member that decoding changes, or with a number beyond a double", () =>
    Effect.gen(function* () {
      const names = JSON.stringify(Array.from({ length: 64 }, (_, at) => `${at}${"n".repeat(200)}`))
      assert.isUndefined(yield* keptOf("provider", body(`${messages()},"provider":{"order":${names}}`)))
      assert.isUndefined(yield* keptOf("messages", body(messages(',"x":9007199254740993'))))
      assert.isDefined(yield* keptOf("response_format", body(`${messages()},"response_format":{"x":${names}}`)))
    })
  )

  it.effect.prop(
    "a text that is kept means the value",
    { content: Schema.Json, tool: Schema.Json, indent: Schema.Literals([0, 1, 4]) },
    ({ content, indent, tool }) =>
      Effect.gen(function* () {
        const sent = {
          model: "test/small",
          messages: [
            { role: "user", content: [{ type: "text", text: long, content }] },
            { role: "assistant", __proto__: null, content: null, tool }
          ],
          tools: [{ tool, long }, { ["__proto__"]: tool }],
          unknown: { long, content }
        }
        const request = yield* receivedAs(chatPayload, JSON.stringify(sent, null, indent))
        for (const name of ["messages", "tools", "unknown"]) {
          const value = (request as Readonly<Record<string, unknown>>)[name]
          const text = takeText(value)
          assert.isDefined(text, name)
          assert.deepStrictEqual(JSON.parse(String(text)), JSON.parse(JSON.stringify(value)), name)
        }
      })
  )
})
