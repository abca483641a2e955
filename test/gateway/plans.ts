/**
 * Plans, keys and candidates for tests. Everything has a default; a test names only what it is
 * about.
 */
import { Effect, Predicate } from "effect"
import {
  type Candidate,
  defaultTimeouts,
  type ModelOffer,
  type ProviderConfig,
  unknownPolicy
} from "../../src/domain/Catalog.ts"
import { type ChatRequest } from "../../src/domain/Chat.ts"
import { allScopes, type KeyRecord } from "../../src/domain/Key.ts"
import { type MeteredRequest, Reservation } from "../../src/gateway/billing/Reservation.ts"
import { type RequestPlan } from "../../src/gateway/request/RequestPlan.ts"
import { type Note } from "../../src/gateway/request/ResponseMetadata.ts"
import { AttemptLog } from "../../src/gateway/routing/AttemptLog.ts"
import { PromptTokens } from "../../src/domain/PromptTokens.ts"
import { scriptedOffer } from "../../src/testing/ScriptedProvider.ts"

export const keyWith = (key: Partial<KeyRecord> = {}): KeyRecord => ({
  id: "key_000000000000000000000000000000aa",
  publicId: "aa",
  secretHash: "",
  previousSecretHash: null,
  previousValidUntilMs: null,
  prefix: "tg-aa…",
  name: "test",
  tier: "enterprise",
  scopes: allScopes,
  state: "active",
  monthlyBudgetNano: null,
  allowedModels: null,
  privacy: null,
  ownerId: null,
  createdAtMs: 0,
  updatedAtMs: 0,
  lastUsedAtMs: null,
  expiresAtMs: null,
  revokedAtMs: null,
  ...key
})

export const providerWith = (config: Partial<ProviderConfig> = {}): ProviderConfig => ({
  slug: "alpha",
  name: "alpha",
  dialect: "mock",
  baseUrl: "",
  apiKey: null,
  auth: { type: "none" },
  headers: {},
  query: {},
  dataPolicy: unknownPolicy,
  timeouts: defaultTimeouts,
  models: [],
  ...config
})

/** 1 USD a million prompt tokens and 2 USD a million completion tokens by default. */
export const candidateWith = (
  slug: string,
  offer: Partial<ModelOffer> = {},
  config: Partial<ProviderConfig> = {}
): Candidate => ({
  provider: providerWith({ slug, ...config }),
  offer: { ...scriptedOffer("test/small"), ...offer }
})

export const requestWith = (request: Partial<ChatRequest> = {}): ChatRequest => ({
  model: "test/small",
  messages: [{ role: "user", content: "Hi" }],
  stream: false,
  ...request
})

let count = 0

/** A request that was admitted at the epoch. */
export const admittedWith = () => ({
  generationId: `gen_${String(++count).padStart(32, "0")}`,
  startedAtMs: 0
})

export type PlanOptions = Partial<Omit<RequestPlan<ChatRequest>, "caller">> & {
  readonly key?: Partial<KeyRecord>
  readonly promptTokens?: number
}

/**
 * A prompt of `tokens` that are known to be at most `rough`, and with a closer look at most `most`.
 * `counts`: how often it was counted.
 */
export const boundedPrompt = (tokens: number, most: number, rough = most) => {
  let counts = 0
  const count = () => Effect.sync(() => (counts++, tokens))
  const bound = { fewest: 1, likely: Math.ceil(most / 2), most }
  const prompt = new PromptTokens(0, { ...bound, most: rough }, rough > most, { bound: () => bound, count })
  return { prompt, counts: () => counts }
}

/** A frozen plan for ten prompt tokens, at the epoch. */
export const planWith = ({ key, promptTokens = 10, ...plan }: PlanOptions = {}): RequestPlan<ChatRequest> =>
  frozen({
    kind: "chat",
    generationId: `gen_${String(++count).padStart(32, "0")}`,
    caller: { key: keyWith(key), limits: { requestsPerMinute: 1_000, tokensPerMinute: 1_000_000, concurrency: 100 } },
    request: requestWith(),
    model: "test/small",
    ranked: [candidateWith("alpha")],
    groupSizes: [],
    conversation: null,
    excluded: [],
    unroutable: null,
    startedAtMs: 0,
    month: "1970-01",
    prompt: PromptTokens.counted(promptTokens),
    outputTokens: null,
    choices: 1,
    streamed: false,
    deadline: null,
    trace: null,
    ...plan
  })

/** Freezes the data deeply: an assignment throws. */
const frozen = <A extends object>(value: A): A => {
  for (const member of Object.values(value)) if (isData(member)) frozen(member)
  return Object.freeze(value)
}

const isData = (value: unknown): value is object =>
  Array.isArray(value) || (Predicate.isObject(value) && Object.getPrototypeOf(value) === Object.prototype)

/** A running request that holds nothing yet. `note` receives what the edge would show. */
export const meteredWith = (
  options: PlanOptions = {},
  { note = () => undefined, takenTokens = 0 }: { readonly note?: Note; readonly takenTokens?: number } = {}
): MeteredRequest<ChatRequest> => ({
  plan: planWith(options),
  reservation: new Reservation(takenTokens, note),
  log: new AttemptLog()
})
