/**
 * A transport that answers from memory, so that a test decides where packets are cut. A whole reply
 * is the joined chunks.
 */
import { readFileSync } from "node:fs"
import { Effect } from "effect"
import { defaultTimeouts, type ModelOffer, type ProviderConfig, unknownPolicy } from "../../src/domain/Catalog.ts"
import { type HttpExchangeFailure } from "../../src/providers/transport/HttpExchange.ts"
import { type Transport } from "../../src/providers/transport/Transport.ts"

export interface Replay {
  readonly chunks: ReadonlyArray<Buffer>
  readonly status?: number
  readonly type?: string
  /** The failure of the connection after the last chunk. */
  readonly failure?: HttpExchangeFailure
  /** Called with every body sent. */
  readonly onSend?: (path: string, body: string) => void
}

export const replay = ({
  chunks,
  failure,
  onSend,
  status = 200,
  type = "text/event-stream"
}: Replay): Transport["Service"] => ({
  endpoint: (_config, path) => {
    const headers = { "content-type": type }
    const text = Buffer.concat([...chunks]).toString("utf8")
    return {
      post: (body) => {
        onSend?.(path, body.toString())
        return failure === undefined ? Effect.succeed({ status, headers, text }) : Effect.fail(failure)
      },
      open: (body) => {
        onSend?.(path, body.toString())
        let at = 0
        return Effect.succeed({
          status,
          headers,
          arrived: Effect.void,
          take: () => {
            const chunk = chunks[at++]
            return chunk === undefined ? (failure ?? null) : [chunk]
          },
          text: () => Effect.succeed(text),
          hurry: () => undefined,
          sawToken: () => undefined,
          drain: () => undefined
        })
      }
    }
  }
})

export const fixture = (name: string): Buffer => readFileSync(new URL(`./fixtures/${name}`, import.meta.url))

export const offer: ModelOffer = {
  id: "test/small",
  upstream: "small-2026",
  contextLength: 128_000,
  maxCompletionTokens: 16_384,
  pricing: { prompt: 150_000, completion: 600_000, cachedPrompt: 75_000 },
  embeddings: false,
  prefill: false,
  hidesReasoning: false
}

export const config = (overrides: Partial<ProviderConfig> = {}): ProviderConfig => ({
  slug: "alpha",
  name: "Alpha",
  dialect: "openai",
  baseUrl: "http://127.0.0.1:1/v1",
  apiKey: null,
  auth: { type: "bearer" },
  headers: {},
  query: {},
  dataPolicy: unknownPolicy,
  timeouts: defaultTimeouts,
  models: [offer],
  ...overrides
})
