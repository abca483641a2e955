/**
 * A gateway with a provider of each dialect, for clients whose requests must work whatever the
 * provider speaks: a third-party mock of the vendors behind five dialects, and the mock provider.
 */
import { Context, Effect, Layer, Redacted } from "effect"
import { type Aimock, startAimock } from "../support/aimock.ts"
import { type Gateway, startGateway } from "../support/Gateway.ts"
import { freshDatabase } from "../support/Postgres.ts"
import { type GenerationRecord, prompt } from "./Clients.ts"
import { fixtures, hello, structured } from "./fixtures.ts"

/** A provider per dialect: its model name, its path at the mock, and its key. */
const providers = [
  { dialect: "openai", upstream: "chat-2026", path: "/v1", key: "sk-key-of-the-openai-provider" },
  // The OpenAI dialect by its other API.
  { dialect: "responses", upstream: "chat-2026", path: "/v1", key: "sk-key-of-the-responses-provider" },
  { dialect: "anthropic", upstream: "claude-sonnet-4-5", path: "", key: "sk-key-of-the-anthropic-provider" },
  { dialect: "gemini", upstream: "gemini-2.5-flash", path: "", key: "sk-key-of-the-gemini-provider" },
  {
    dialect: "bedrock",
    upstream: "anthropic.claude-sonnet-4-5-20250929-v1:0",
    path: "",
    key: "AKIATESTTESTTESTTEST:secret-key-of-the-bedrock-provider"
  }
] as const
export type Dialect = (typeof providers)[number]["dialect"]
export const dialects: ReadonlyArray<Dialect> = providers.map(({ dialect }) => dialect)
/** And the mock provider, which repeats what it is asked. */
export const everywhere: ReadonlyArray<Dialect | "mock"> = [...dialects, "mock"]

export const modelOf = (dialect: Dialect | "mock") => (dialect === "mock" ? "mock/echo" : `${dialect}/chat`)
/** The answer to the prompt of `hello`. */
export const answerOf = (dialect: Dialect | "mock") => (dialect === "mock" ? prompt(hello.prompt) : hello.content)

/** The entry of the dialect's provider without its models, whose name at the mock is `upstream`. */
export const providerEntry = (dialect: Dialect, origin: string) => {
  const { key, path, upstream } = providers.find((each) => each.dialect === dialect) ?? providers[0]
  return {
    slug: dialect,
    ...(dialect === "responses" ? { dialect: "openai", api: dialect } : { dialect }),
    base_url: `${origin}${path}`,
    api_key: key,
    upstream
  }
}

/**
 * Gemini's default model here hides its thinking, so another one is used where the stream is
 * checked.
 */
const watchedUpstream = (dialect: Dialect, upstream: string) => (dialect === "gemini" ? "gemini-2.0-flash" : upstream)

/** Dialects that request a JSON answer with a forced tool need a mock model that calls the tool. */
const answerTools = ["respond_with_json", "person"].map((toolName) => ({
  match: { userMessage: structured.prompt, toolName },
  response: { toolCalls: [{ name: toolName, arguments: structured.content }], usage: hello.usage }
}))
const plain = {
  match: { userMessage: structured.prompt },
  response: { content: structured.content, usage: hello.usage }
}

/**
 * Each dialect has `<dialect>/chat`, and `<dialect>/watched`, which a second provider could answer
 * instead. The mock provider has `mock/echo`.
 */
export class Deployment extends Context.Service<
  Deployment,
  {
    readonly gateway: Gateway
    readonly aimock: Aimock
    /** The secret of a key for all tests. */
    readonly key: string
    readonly generation: (id: string) => Effect.Effect<GenerationRecord>
  }
>()("tollgate/test/Deployment") {
  static readonly layer = Layer.effect(
    this,
    Effect.suspend(() => deployed({}))
  )
  /** With stored responses. */
  static readonly layerStoring = Layer.effect(
    this,
    Effect.suspend(() => deployed({ responses: { retention_days: 1 } }))
  )
}

const deployed = Effect.fnUntraced(function* (settings: object) {
  const aimock = yield* startAimock([...answerTools, ...fixtures, plain])
  const { origin } = new URL(aimock.url)
  const pricing = { prompt: 2, completion: 8 }
  /** A more expensive provider that could answer instead of each. */
  const mock = {
    slug: "spare",
    dialect: "mock",
    models: [
      { id: "mock/echo", upstream: "echo", pricing },
      ...dialects.map((dialect) => ({
        id: `${dialect}/watched`,
        upstream: "echo",
        pricing: { prompt: 20, completion: 80 }
      }))
    ]
  }
  const gateway = yield* startGateway({
    env: { DATABASE_URL: Redacted.value(yield* freshDatabase) },
    config: {
      providers: [
        ...dialects.map((dialect) => {
          const { upstream, ...entry } = providerEntry(dialect, origin)
          return {
            ...entry,
            models: [
              { id: `${dialect}/chat`, upstream },
              { id: `${dialect}/watched`, upstream: watchedUpstream(dialect, upstream) }
            ].map((model) => ({ ...model, pricing, max_completion_tokens: 1_000 }))
          }
        }),
        mock
      ],
      tiers: { free: { requests_per_minute: 30, concurrency: 30 } },
      cache: { enabled: false },
      ...settings
    },
    secrets: providers.map(({ key }) => key)
  })
  const { key } = yield* gateway.issueKey()
  return Deployment.of({
    gateway,
    aimock,
    key,
    generation: (id) =>
      Effect.map(
        Effect.orDie(gateway.send(`/v1/generations/${id}`, { key })),
        ({ text }) => JSON.parse(text) as GenerationRecord
      )
  })
})
