/** A body is written as `JSON.stringify` does, with the client's own text of what is unchanged. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import { sentText } from "../../../src/domain/json/SentText.ts"
import { translated as translatedMessages } from "../../../src/http/messages/Request.ts"
import { translated as translatedResponses } from "../../../src/http/responses/Request.ts"
import { sentJson } from "../../../src/providers/wire/SentJson.ts"
import { chatPayload, messagesPayload, receivedAs, responsesPayload } from "../../support/receivedBody.ts"

/** A long string as a client may write it, with escapes that `JSON.stringify` does not make. */
const literal = `"${'A \\"road\\" is paid for by \\u0074hose who use it\\/them: é€😀\\n '.repeat(80)}"`
const long = JSON.parse(literal) as string

const parsed = (body: string | Buffer): unknown => JSON.parse(String(body))
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))
const timesIn = (body: string | Buffer, text: string) => String(body).split(text).length - 1

describe("sentJson", () => {
  it.effect("writes long strings of a translated conversation as the client did, once", () =>
    Effect.gen(function* () {
      const result = `{"type":"tool_result","tool_use_id":"a","content":${literal}}`
      const messages = `[{"role":"user","content":${literal}},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"b","input":{}}]},{"role":"user","content":[${result}]}]`
      for (const size of [1, 1e9]) {
        const text = `{"model":"m","max_tokens":1,"system":${literal},"messages":${messages}}`
        const asked = Result.getOrThrow(translatedMessages(yield* receivedAs(messagesPayload, text, size))).request
        const first = sentJson({ ...asked }, asked.messages)
        assert.strictEqual(timesIn(first, literal), 3)
        assert.deepStrictEqual(parsed(first), plain(asked))
        assert.strictEqual(sentJson({ ...asked }, asked.messages), JSON.stringify(asked))

        const items = `[{"role":"user","content":${literal}},{"type":"function_call","call_id":"a","name":"b","arguments":"{}"},{"type":"function_call_output","call_id":"a","output":${literal}}]`
        const body = `{"model":"m","instructions":${literal},"input":${items}}`
        const { request } = Result.getOrThrow(translatedResponses(yield* receivedAs(responsesPayload, body, size)))
        const sent = sentJson({ ...request }, request.messages)
        assert.strictEqual(timesIn(sent, literal), 3)
        assert.deepStrictEqual(parsed(sent), plain(request))
      }
    })
  )

  it.effect("writes a changed list anew around the client's strings, and forgets the text of the list", () =>
    Effect.gen(function* () {
      const text = `{"model":"m","messages":[{"role":"user","name":"ann","content":${literal}}],"metadata":{"a":${literal}}}`
      const request = yield* receivedAs(chatPayload, text)
      const messages = request.messages.map(({ content, role }) => ({
        role,
        content,
        more: [undefined, { a: null }, {}, []]
      }))
      const sent = sentJson({ messages, gone: undefined, model: "m" }, request.messages)
      assert.deepStrictEqual(parsed(sent), plain({ messages, model: "m" }))
      assert.strictEqual(timesIn(sent, literal), 1)
      assert.isUndefined(sentText(request.messages))
    })
  )

  it.effect("writes all of a body anew that repeats a name, or has names that are numbers", () =>
    Effect.gen(function* () {
      for (const more of ['"a":{"b":"x","b":1}', '"a":{"c":1,"7":"x"}', '"\\u006dodel":"m"']) {
        const request = yield* receivedAs(
          chatPayload,
          `{"model":"m",${more},"messages":[{"role":"user","content":[{"type":"text","text":${literal}}]}],"tools":[]}`
        )
        const messages = [...request.messages]
        assert.strictEqual(sentJson({ messages }, request.messages), JSON.stringify({ messages }), more)
      }
    })
  )

  it.effect.prop(
    "means what JSON.stringify writes, whatever the texts and their place",
    {
      texts: Schema.Array(Schema.Tuple([Schema.String, Schema.Json])),
      repeated: Schema.Literals([1, 30, 200]),
      isEscaped: Schema.Boolean
    },
    ({ isEscaped, repeated, texts }) =>
      Effect.gen(function* () {
        const content = texts.flatMap(([text, value]) => [{ type: "text", text: text.repeat(repeated), value }])
        const json = JSON.stringify({
          model: "m",
          messages: [
            { role: "user", content },
            { role: "user", content: long }
          ]
        })
        const body = isEscaped
          ? json.replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
          : json
        const request = yield* receivedAs(chatPayload, body, 777)
        const members = { contents: request.messages.map((message) => ({ parts: message.content, role: "user" })) }
        assert.deepStrictEqual(parsed(sentJson(members, request.messages)), plain(members))
      })
  )
})
