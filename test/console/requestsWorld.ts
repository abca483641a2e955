/**
 * A gateway in front of scripted providers, for the page of requests: answers, a retry, a fallback,
 * a stream that breaks, one that another provider continues, cache hits and failures.
 */
import { Effect, Layer } from "effect"
import { errorBody, sse, chatBody, chunkBody, streamChunks } from "../support/upstream/Bodies.ts"
import { type Behaviour } from "../support/upstream/Behaviour.ts"
import { startUpstream } from "../support/upstream/Upstream.ts"
import { type Gateway } from "../support/Gateway.ts"
import { Console } from "./browser.ts"

const usage = { prompt_tokens: 11, completion_tokens: 7 }
const answer: Behaviour = { json: chatBody({ content: "Hello", usage }) }
const begun = [
  sse(chunkBody({ role: "assistant", content: "" })),
  { waitMs: 30 },
  sse(chunkBody({ content: "Hello " })),
  { waitMs: 30 },
  sse(chunkBody({ content: "from " }))
]
const cut: Behaviour = { chunks: [...begun, { waitMs: 30 }], ending: "reset" }
const stream: Behaviour = {
  before: { waitMs: 20 },
  chunks: [
    ...streamChunks(["the other "], usage).slice(0, 2),
    { waitMs: 40 },
    ...streamChunks(["side"], usage).slice(1)
  ]
}
const quota = "You exceeded your current quota, please check your plan."
const wrongKey = "Incorrect API key provided."

/** What each provider does with a model's name at the provider. */
const scripts: Readonly<Record<string, Behaviour | ReadonlyArray<Behaviour>>> = {
  "alpha-good": answer,
  "alpha-streamed": stream,
  "alpha-retried": [{ status: 500, json: errorBody("The server had an error.") }, answer],
  "alpha-cut": cut,
  "alpha-continued": cut,
  "beta-continued": stream,
  "delta-fallback": { status: 429, json: errorBody(quota) },
  "beta-fallback": answer,
  "gamma-broken": { status: 401, json: errorBody(wrongKey) }
}

const providers = (baseUrl: string) =>
  ["alpha", "delta", "beta", "gamma"].map((slug, at) => ({
    slug,
    dialect: "openai",
    base_url: baseUrl,
    api_key: `sk-${slug}`,
    models: Object.keys(scripts)
      .filter((name) => name.startsWith(`${slug}-`))
      .map((name) => ({
        id: `test/${name.slice(slug.length + 1)}`,
        upstream: name,
        prefill: slug === "beta",
        max_completion_tokens: 1_000,
        pricing: { prompt: at + 1, completion: 2 * (at + 1) }
      }))
  }))

export const requestsWorld = Layer.unwrap(
  Effect.gen(function* () {
    const upstream = yield* Effect.acquireRelease(
      Effect.promise(() => startUpstream()),
      ({ stop }) => Effect.promise(() => stop())
    )
    for (const [name, does] of Object.entries(scripts)) yield* Effect.promise(() => upstream.script(name, does))
    return Console.layer({ providers: providers(upstream.url) })
  })
)

export interface Called {
  readonly id: string
  readonly requestId: string
  readonly status: number
}

/** Sends chats with a key, and reads each answer to its end. */
export const chats = (gateway: Gateway, key: string, bodies: ReadonlyArray<Readonly<Record<string, unknown>>>) =>
  Effect.runPromise(
    Effect.forEach(bodies, (body) =>
      Effect.map(
        Effect.exit(
          gateway.send("/v1/chat/completions", {
            key,
            body: { messages: [{ role: "user", content: "Hello" }], max_tokens: 50, ...body }
          })
        ),
        (exit): Called | undefined =>
          exit._tag === "Failure"
            ? undefined
            : {
                id: String(exit.value.headers["x-generation-id"] ?? ""),
                requestId: String(exit.value.headers["x-request-id"]),
                status: exit.value.status
              }
      )
    )
  )
