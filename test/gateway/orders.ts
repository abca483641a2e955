/** Orders, keys and candidates for tests of the gateway's parts: everything has a default, a test names what it is about. */
import {
  type Candidate,
  defaultTimeouts,
  type ModelOffer,
  type ProviderConfig,
  unknownPolicy
} from "../../src/domain/Catalog.ts"
import { type ChatRequest } from "../../src/domain/Chat.ts"
import { allScopes, type KeyRecord } from "../../src/domain/Key.ts"
import { emptyResponseMetadata, type Order } from "../../src/gateway/request/Order.ts"
import { AttemptLog } from "../../src/gateway/routing/AttemptLog.ts"
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

/** 1 USD a million prompt tokens, 2 USD a million completion tokens, unless told otherwise. */
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

/** A request that was let in at the epoch, and of which no tokens were taken yet. */
export const admittedWith = () => ({
  generationId: `gen_${String(++count).padStart(32, "0")}`,
  startedAtMs: 0,
  tokens: 0
})

export type OrderOptions = Partial<Omit<Order<ChatRequest>, "caller">> & { readonly key?: Partial<KeyRecord> }

/** An order of ten prompt tokens, at the epoch. */
export const orderWith = ({ key, ...order }: OrderOptions = {}): Order<ChatRequest> => ({
  generationId: `gen_${String(++count).padStart(32, "0")}`,
  caller: { key: keyWith(key), limits: { requestsPerMinute: 1_000, tokensPerMinute: 1_000_000, concurrency: 100 } },
  request: requestWith(),
  model: "test/small",
  ranked: [candidateWith("alpha")],
  excluded: [],
  unroutable: null,
  startedAtMs: 0,
  month: "1970-01",
  promptTokens: 10,
  outputTokens: null,
  cacheName: null,
  choices: 1,
  streamed: false,
  facts: emptyResponseMetadata(),
  patience: null,
  affordableTokens: null,
  log: new AttemptLog(),
  account: {
    pendingReserve: null,
    late: null,
    reservedNano: 0,
    extendedNano: 0,
    heldTokens: null,
    sliced: false,
    clamped: false,
    opened: false,
    settled: false,
    takenTokens: 0
  },
  ...order
})
