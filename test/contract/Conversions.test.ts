/**
 * What conversions between the APIs of vendors are known to lose or to add: every surface, in front
 * of a provider of OpenAI's chat completions.
 */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { behindOn, useUpstream } from "../faults/gateway.ts"
import { chatSurface, eachLive } from "../support/surfaces.ts"
import { type Behaviour } from "../support/upstream/Behaviour.ts"
import { chatBody, chunkBody, DONE, sse, usageChunkBody } from "../support/upstream/Bodies.ts"

const upstream = useUpstream()

const call = (id: string, given: string, index = 0) => ({
  index,
  id,
  type: "function",
  function: { name: "write", arguments: given }
})
const calls = (...pieces: ReadonlyArray<object>) => sse(chunkBody({ tool_calls: pieces }))
const begun = sse(chunkBody({ role: "assistant", content: "" }))
const streamed = (...chunks: ReadonlyArray<string>): Behaviour => ({
  chunks: [begun, ...chunks, sse(chunkBody({}, "stop")), sse(usageChunkBody()), DONE]
})

eachLive("a call behind an empty text is all of the answer, and the client is to run it", (surface) =>
  Effect.gen(function* () {
    const text = sse(chunkBody({ content: "" }))
    const gateway = yield* behindOn(surface)(upstream(), {
      alpha: {
        does: streamed(text, calls(call("call_1", `{"to":`)), calls({ index: 0, function: { arguments: "1}" } }), text)
      }
    })
    const reply = yield* gateway.ask("stream")
    assert.deepStrictEqual([reply.content, reply.toolArguments], ["", [`{"to":1}`]])
    surface.assertStream(reply.text)
    assert.notInclude(reply.text, "(no content)")
    // Chat completions pass the provider's own word on.
    if (surface !== chatSurface) assert.match(reply.text, /"stop_reason":"tool_use"|"status":"completed"/)
  })
)

eachLive("calls to which a server gives one index stay apart", (surface) =>
  Effect.gen(function* () {
    const both = [call("call_1", `{"to":1}`), call("call_2", `{"to":2}`)]
    const gateway = yield* behindOn(surface)(upstream(), {
      alpha: { does: [streamed(...both.map((each) => calls(each))), streamed(calls(...both))] }
    })
    for (const _ of ["apart", "together"]) {
      const reply = yield* gateway.ask("stream")
      assert.deepStrictEqual(reply.toolArguments, [`{"to":1}`, `{"to":2}`])
      surface.assertStream(reply.text)
    }
  })
)

eachLive("tokens from the provider's cache are counted once", (surface) =>
  Effect.gen(function* () {
    const usage = { prompt_tokens: 100, completion_tokens: 7, cached_tokens: 60 }
    const gateway = yield* behindOn(surface)(upstream(), {
      alpha: {
        does: [
          { json: chatBody({ usage }) },
          { chunks: [begun, sse(chunkBody({ content: "Hi" }, "stop")), sse(usageChunkBody(usage)), DONE] }
        ]
      }
    })
    for (const mode of ["JSON", "stream"] as const) {
      const { tokens } = surface.read((yield* gateway.ask(mode)).text)
      assert.deepStrictEqual(tokens, [100, 7])
    }
  })
)

eachLive("a provider that tells no usage is counted, in the answer as on the receipt", (surface) =>
  Effect.gen(function* () {
    const gateway = yield* behindOn(surface)(upstream(), {
      alpha: {
        does: [
          { json: chatBody({ usage: null }) },
          { chunks: [begun, sse(chunkBody({ content: "Hi" }, "stop")), DONE] }
        ]
      }
    })
    for (const mode of ["JSON", "stream"] as const) {
      const { receipt, text } = yield* gateway.ask(mode)
      const [prompt = 0, completion = 0] = surface.read(text).tokens ?? []
      assert.deepStrictEqual([prompt, completion], [receipt?.usage.prompt_tokens, receipt?.usage.completion_tokens])
      assert.isAbove(Math.min(prompt, completion), 0)
      assert.strictEqual(receipt?.usage_source, "counted")
    }
  })
)

eachLive("a provider's 400 stays one, in one envelope, and is not tried again", (surface) =>
  Effect.gen(function* () {
    const does = { status: 400, json: { error: { message: "the tool has no schema", type: "invalid_request_error" } } }
    const gateway = yield* behindOn(surface)(upstream(), { alpha: { does }, beta: { does } })
    for (const mode of ["JSON", "stream"] as const) {
      const { status, text } = yield* gateway.ask(mode)
      assert.strictEqual(status, 400)
      const { message } = surface.read(text).error ?? {}
      assert.strictEqual(message, "the tool has no schema")
      assert.lengthOf(text.split("the tool has no schema"), 2)
    }
    assert.lengthOf(yield* gateway.calls("alpha"), 2)
    assert.isEmpty(yield* gateway.calls("beta"))
  })
)
