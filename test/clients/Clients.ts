/**
 * The environment for tests of client libraries: the gateway in its own process on a real Postgres
 * and a real Redis, with a third-party mock of a model provider behind it. One per file; every test
 * uses its own keys.
 */
import { assert } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { inject } from "vitest"
import { type Aimock, startAimock } from "../support/aimock.ts"
import { eventually, type Gateway, promptMarker, startGateway } from "../support/Gateway.ts"
import { freshDatabase } from "../support/Postgres.ts"
import { fixtures, hello } from "./fixtures.ts"

/** The members of a generation that clients compare with their responses. */
export interface GenerationRecord {
  readonly id: string
  readonly model: string
  readonly provider: string
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number }
  readonly cost: { readonly billed_usd: number }
  readonly streamed: boolean
  readonly usage_source: string
}

/** A prompt with the marker that would reveal a leak. */
export const prompt = (text: string): string => `${text} (${promptMarker})`

const providerKey = "sk-key-of-the-provider-0123456789"

/** USD per million tokens. */
export const pricing = { prompt: 2, completion: 8 }

export class Clients extends Context.Service<
  Clients,
  {
    readonly gateway: Gateway
    /** The base URL for clients. */
    readonly baseUrl: string
    readonly aimock: Aimock
    /** The body of the last request that reached the provider. */
    readonly lastBody: Effect.Effect<Readonly<Record<string, unknown>>>
    /** The secret of a new key. */
    readonly key: (body?: Readonly<Record<string, unknown>>) => Effect.Effect<string>
    readonly generation: (key: string, id: string) => Effect.Effect<GenerationRecord>
    /**
     * Uses up a free key's requests of a minute, so that the next one is rejected for about two
     * seconds.
     */
    readonly exhaust: (key: string) => Effect.Effect<void>
  }
>()("tollgate/test/Clients") {
  static readonly layer = Layer.effect(
    Clients,
    Effect.gen(function* () {
      const database = yield* freshDatabase
      const aimock = yield* startAimock(fixtures)
      const gateway = yield* startGateway({
        env: { DATABASE_URL: Redacted.value(database), REDIS_URL: inject("redisUrl"), ALPHA_KEY: providerKey },
        config: {
          providers: [
            {
              slug: "alpha",
              name: "Alpha Cloud",
              dialect: "openai",
              base_url: aimock.url,
              api_key: "${ALPHA_KEY}",
              models: [
                {
                  id: "test/chat",
                  upstream: "chat-2026",
                  context_length: 8_000,
                  max_completion_tokens: 1_000,
                  pricing
                },
                // Clients write the role `developer` for models of these names.
                ...["gpt-5", "o3-mini"].map((upstream) => ({ id: `openai/${upstream}`, upstream, pricing })),
                { id: "test/embed", upstream: "embed-2026", embeddings: true, pricing: { prompt: 1 } }
              ]
            }
          ],
          tiers: { free: { requests_per_minute: 30, concurrency: 30 } },
          cache: { enabled: false }
        }
      })
      const key = (body?: Readonly<Record<string, unknown>>) => Effect.map(gateway.issueKey(body), ({ key }) => key)
      return Clients.of({
        gateway,
        baseUrl: `${gateway.url}/v1`,
        aimock,
        key,
        lastBody: Effect.map(
          aimock.journal,
          (entries) => entries.at(-1)?.body as unknown as Readonly<Record<string, unknown>>
        ),
        generation: (key, id) =>
          Effect.map(
            Effect.orDie(gateway.send(`/v1/generations/${id}`, { key })),
            ({ text }) => JSON.parse(text) as GenerationRecord
          ),
        exhaust: (key) => exhausted(gateway, key, "test/chat")
      })
    })
  )
}

/**
 * Uses up a free key's requests of a minute, so that the next one is rejected for about two
 * seconds.
 */
export const exhausted = (gateway: Gateway, key: string, model: string): Effect.Effect<void> => {
  const body = { model, messages: [{ role: "user", content: prompt(hello.prompt) }], max_tokens: 5 }
  const ask = gateway.send("/v1/chat/completions", { key, body })
  return eventually(
    Effect.filterOrFail(
      Effect.all(
        Array.from({ length: 10 }, () => ask),
        { concurrency: "unbounded" }
      ),
      (answers) => answers.some(({ status }) => status === 429)
    ),
    10_000,
    "a free key's limit"
  ).pipe(Effect.asVoid)
}

/**
 * One request of a client, possibly a retry, and the head of its response. Times in milliseconds.
 */
export interface Exchange {
  readonly sentAtMs: number
  readonly answeredAtMs: number
  readonly status: number
  readonly headers: Headers
}

/** A `fetch` that records every exchange, retries included. */
export const recordingFetch = () => {
  const exchanges: Array<Exchange> = []
  const recording: typeof fetch = async (input, init) => {
    const sentAtMs = performance.now()
    const response = await fetch(input, init)
    exchanges.push({ sentAtMs, answeredAtMs: performance.now(), status: response.status, headers: response.headers })
    return response
  }
  return { fetch: recording, exchanges }
}

/** Fails unless there was a 429, a pause of its Retry-After, and then a response. */
export const assertRetryAfter = (exchanges: ReadonlyArray<Exchange>): void => {
  assert.deepStrictEqual(
    exchanges.map(({ status }) => status),
    [429, 200]
  )
  const [refused, retried] = exchanges
  const askedMs = Number(refused?.headers.get("retry-after")) * 1000
  assert.include([1000, 2000], askedMs)
  assert.isAtLeast((retried?.sentAtMs ?? 0) - (refused?.answeredAtMs ?? 0), askedMs - 20)
}

/** The rejection of a client's promise. Dies if it resolves. */
export const rejection = (run: () => PromiseLike<unknown>): Effect.Effect<unknown> =>
  Effect.promise(async () => {
    try {
      await run()
    } catch (error) {
      return error
    }
    throw new Error("it did not reject")
  })
