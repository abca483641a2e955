/**
 * The gateway with governance off: nothing is reserved, limited or recorded, and keys are in
 * memory. Otherwise it equals production. It shows the cost of limits and ledger.
 */
import * as CacheMemory from "../../src/store/cache/CacheMemory.ts"
import * as LimitsMemory from "../../src/store/limits/LimitsMemory.ts"
import * as KeyRepoMemory from "../../src/store/keys/KeyRepoMemory.ts"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Effect, Layer, Redacted } from "effect"
import * as Observability from "../../src/Observability.ts"
import { memory, serving, signInMemory } from "../../src/Server.ts"
import { Settings } from "../../src/Settings.ts"
import { Ledger } from "../../src/store/ledger/Ledger.ts"
import * as LedgerMemory from "../../src/store/ledger/Memory.ts"
import { type LimitHolder, Limits, type LimitVerdict } from "../../src/store/limits/Limits.ts"
import { DeliveryQueue } from "../../src/store/webhooks/DeliveryQueue.ts"

const unrecorded = Layer.effect(
  Ledger,
  Effect.map(Ledger, (ledger) =>
    Ledger.of({
      ...ledger,
      reserve: () => Effect.succeed({ _tag: "Reserved" }),
      extend: () => Effect.succeed({ _tag: "Reserved" }),
      settle: () => Effect.void,
      replay: () => Effect.succeed({ _tag: "Reserved" }),
      void: () => Effect.void
    })
  )
).pipe(Layer.provideMerge(LedgerMemory.layer))

const granted = ({ limits: { requestsPerMinute, tokensPerMinute } }: LimitHolder): LimitVerdict => ({
  refusedBy: null,
  holder: null,
  retryAfterMs: 0,
  requests: { limit: requestsPerMinute, remaining: requestsPerMinute, resetMs: 0 },
  tokens: { limit: tokensPerMinute, remaining: tokensPerMinute, resetMs: 0 }
})

const unlimited = Layer.effect(
  Limits,
  Effect.map(Limits, (limits) =>
    Limits.of({
      ...limits,
      acquire: (request) => Effect.succeed(granted(request)),
      take: (request) => Effect.succeed(granted(request)),
      correct: (correction) => Effect.succeed(granted(correction).tokens),
      renew: () => Effect.void,
      release: () => Effect.void
    })
  )
).pipe(Layer.provide(LimitsMemory.layer))

/** `BENCH_LIMITS=on`: limits are checked, and nothing else. */
const limits = process.env["BENCH_LIMITS"] === "on" ? LimitsMemory.layer : unlimited

Layer.unwrap(
  Effect.map(Settings, (settings) => {
    const value = settings.adminKey ?? Redacted.make("")
    return Layer.provide(
      serving(settings, { value, path: null, fresh: false }),
      Layer.mergeAll(
        unrecorded,
        limits,
        KeyRepoMemory.layer,
        CacheMemory.layer(settings.cache),
        memory,
        DeliveryQueue.layerMemory(),
        signInMemory
      )
    )
  })
).pipe(
  Layer.provide(Observability.layer),
  Layer.provide(Settings.layer),
  Layer.launch,
  Observability.reportFailure,
  NodeRuntime.runMain
)
