/** The error classes of OpenAI's library for failing providers, and that it calls them once. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import OpenAI from "openai"
import { behind, useUpstream } from "./gateway.ts"
import { errorBody } from "../support/upstream/Bodies.ts"
import { type Behaviour } from "../support/upstream/Behaviour.ts"
import { rejection } from "../clients/Clients.ts"

const upstream = useUpstream()

interface Expected {
  readonly kind: abstract new (...args: never) => unknown
  readonly status: number
  readonly code: string
  readonly message: RegExp
}

const overflow = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."
const policy = "Your request was rejected as a result of our safety system."

const cases: ReadonlyArray<readonly [string, Behaviour, Expected]> = [
  [
    "our refused key",
    { status: 401, json: errorBody("no such key sk-alpha") },
    {
      kind: OpenAI.InternalServerError,
      status: 502,
      code: "provider_error",
      message: /alpha refused our key/
    }
  ],
  [
    "a rate limit of two minutes",
    { status: 429, headers: { "retry-after": "120" }, json: errorBody("slow down") },
    {
      kind: OpenAI.RateLimitError,
      status: 429,
      code: "provider_rate_limited",
      message: /alpha is rate limited and asks for 120 seconds/
    }
  ],
  [
    "a model that the provider does not know",
    { status: 404, json: errorBody("no such model", { code: "model_not_found" }) },
    {
      kind: OpenAI.NotFoundError,
      status: 404,
      code: "model_not_found",
      message: /alpha does not know the model 'test\/small'/
    }
  ],
  [
    "an overflow of the context",
    { status: 400, json: errorBody(overflow, { code: "context_length_exceeded" }) },
    {
      kind: OpenAI.BadRequestError,
      status: 400,
      code: "context_length_exceeded",
      message: /maximum context length is 8192 tokens/
    }
  ],
  [
    "a content policy",
    { status: 400, json: errorBody(policy, { code: "content_policy_violation" }) },
    {
      kind: OpenAI.BadRequestError,
      status: 400,
      code: "content_policy_violation",
      message: /rejected as a result of our safety system/
    }
  ]
]

describe("openai, with its own retries, tells of", () => {
  it.live.each(cases)("%s", ([, does, expected]) =>
    Effect.gen(function* () {
      const gateway = yield* behind(upstream(), { alpha: { does } })
      const openai = new OpenAI({ baseURL: `${gateway.app.url}/v1`, apiKey: gateway.key })
      for (const stream of [false, true]) {
        const before = (yield* gateway.calls("alpha")).length
        const error = yield* rejection(() =>
          openai.chat.completions.create({ model: "test/small", messages: [{ role: "user", content: "Hi" }], stream })
        )
        assert.isTrue(error instanceof expected.kind, String(error))
        const { code, message, status } = error as InstanceType<typeof OpenAI.APIError>
        assert.deepStrictEqual([status, code], [expected.status, expected.code])
        assert.match(message, expected.message)
        assert.notInclude(message, "sk-alpha")
        // The second request may meet an open circuit, which answers without a call.
        const calls = (yield* gateway.calls("alpha")).length - before
        assert.isTrue(stream ? calls <= 1 : calls === 1, String(calls))
      }
    })
  )
})
