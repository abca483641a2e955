/**
 * The start of the gateway: the settings select the database, the limits and the cache. These open
 * while the rest of the program is still loading, which halves the time to the first answer. With
 * `TOLLGATE_WORKERS` above 1, the primary process only supervises the workers.
 */
import * as SealedKeySql from "./store/secrets/SealedKeySql.ts"
import * as SecretStoreFiles from "./store/secrets/SecretStoreFiles.ts"
import * as SecretStoreSql from "./store/secrets/SecretStoreSql.ts"
import * as StatsRedis from "./store/providerState/StatsRedis.ts"
import * as ConversationMemory from "./store/providerState/ConversationMemory.ts"
import * as ConversationRedis from "./store/providerState/ConversationRedis.ts"
import * as CacheMemory from "./store/cache/CacheMemory.ts"
import * as CacheRedis from "./store/cache/CacheRedis.ts"
import * as LimitsMemory from "./store/limits/LimitsMemory.ts"
import * as LimitsRedis from "./store/limits/LimitsRedis.ts"
import * as LiveProcessesSql from "./store/processes/LiveProcessesSql.ts"
import * as ChallengesSql from "./store/people/ChallengesSql.ts"
import * as SessionsSql from "./store/people/SessionsSql.ts"
import * as UsersSql from "./store/people/UsersSql.ts"
import * as IdempotencySql from "./store/idempotency/IdempotencySql.ts"
import * as ResponsesSql from "./store/responses/ResponsesSql.ts"
import * as KeyRepoSql from "./store/keys/KeyRepoSql.ts"
import { Effect, Layer, Redacted, Schedule } from "effect"
import { randomBytes } from "node:crypto"
import { join } from "node:path"
import { messagesOf } from "./domain/Errors.ts"
import { Circuits } from "./gateway/health/Circuits.ts"
import { ProviderStats } from "./gateway/health/ProviderStats.ts"
import { Settings, type SettingsShape } from "./Settings.ts"
import { readOrMakeSecret, type SecretFileError } from "./store/secrets/SecretFile.ts"
import * as LedgerSql from "./store/ledger/Sql.ts"
import * as LockoutRedis from "./store/providerState/LockoutRedis.ts"
import * as SentAlertsSql from "./store/alerts/SentAlertsSql.ts"
import * as DeadLetterSql from "./store/webhooks/DeadLetterSql.ts"
import * as AuditSql from "./store/audit/AuditSql.ts"
import * as OutageSql from "./store/outages/OutageSql.ts"
import * as RefusedCredentialSql from "./store/audit/RefusedCredentialSql.ts"
import * as RefusalSql from "./store/refusals/RefusalSql.ts"
import { DeliveryQueue } from "./store/webhooks/DeliveryQueue.ts"
import * as Presence from "./store/processes/Presence.ts"
import { RedisConnection } from "./store/redis/RedisConnection.ts"
import { Sql } from "./store/sql/Sql.ts"
import { isRefusal } from "./store/sql/SqlErrors.ts"
import { StoreError } from "./store/StoreError.ts"
import { type AdminKey } from "./StartupBanner.ts"
import * as Workers from "./Workers.ts"

const database = (settings: SettingsShape) =>
  Layer.mergeAll(
    KeyRepoSql.layer,
    LedgerSql.layer,
    IdempotencySql.layer,
    ResponsesSql.layer,
    UsersSql.layer,
    SessionsSql.layer,
    ChallengesSql.layer,
    SentAlertsSql.layer,
    DeadLetterSql.layer,
    RefusalSql.layer,
    AuditSql.layer,
    RefusedCredentialSql.layer,
    OutageSql.layer,
    SealedKeySql.layer,
    // Without webhooks there is nothing to deliver, and nobody asks the database for it.
    settings.webhooks.length === 0 ? DeliveryQueue.layerMemory() : DeliveryQueue.layer(),
    secretStore(settings)
  ).pipe(
    Layer.provide(presence(settings)),
    Layer.provide(
      settings.databaseUrl === null
        ? Sql.layerEmbedded({ dataDir: settings.dataDir })
        : waitForStore(Sql.layerPostgres({ url: settings.databaseUrl, maxConnections: settings.databasePool }))
    )
  )

/**
 * Processes on one Postgres must agree on sharing limits in Redis. The embedded database allows
 * only one process.
 */
const presence = ({ databaseUrl, redisUrl }: SettingsShape) =>
  databaseUrl === null
    ? Layer.empty
    : Layer.provide(Presence.layer({ sharesLimits: redisUrl !== null }), LiveProcessesSql.layer)

/**
 * Generated secrets: in files with the embedded database, otherwise in the database, because
 * several processes may share them.
 */
const secretStore = (settings: SettingsShape) =>
  settings.databaseUrl === null ? SecretStoreFiles.layer(join(settings.dataDir, "secrets")) : SecretStoreSql.layer

/**
 * Waits up to a minute for a database or Redis that does not answer yet, and logs why at first and
 * every ten seconds. A server that refuses the connection is not tried again.
 */
const waitForStore = <A, E>(store: Layer.Layer<A, E | StoreError>) => {
  const isTransient = (error: unknown) => error instanceof StoreError && !isRefusal(error)
  let tries = 0
  return Layer.effectContext(
    Layer.build(Layer.fresh(store)).pipe(
      Effect.tapError((error) =>
        error instanceof StoreError && isTransient(error) && tries++ % 10 === 0
          ? Effect.logWarning(notYet(error))
          : Effect.void
      ),
      Effect.retry({ schedule: Schedule.spaced("1 second"), times: 60, while: isTransient })
    )
  )
}

const notYet = (error: StoreError): string => {
  const why = messagesOf(error.cause).at(-1) ?? "no reason given"
  return error.dependency === "database"
    ? `the database does not answer (${why}): trying for a minute. DATABASE_URL names its host`
    : `${why}: trying for a minute. REDIS_URL names its host`
}

/**
 * State that processes share through Redis: limits, circuits, provider statistics, places of
 * conversations and the prompt cache.
 */
const shared = (settings: SettingsShape) =>
  settings.redisUrl === null
    ? Layer.mergeAll(
        LimitsMemory.layer,
        CacheMemory.layer(settings.cache),
        Circuits.layerMemory,
        ProviderStats.layer,
        ConversationMemory.layer
      )
    : Layer.mergeAll(
        LimitsRedis.layer,
        CacheRedis.layer,
        Layer.provide(Circuits.layerRedis, LockoutRedis.layer),
        Layer.provide(ProviderStats.layerShared, StatsRedis.layer),
        ConversationRedis.layer
      ).pipe(Layer.provide(waitForStore(RedisConnection.layer({ url: settings.redisUrl }))))

/** The admin key of the settings, or the one in the data directory. */
const adminKey = (settings: SettingsShape): Effect.Effect<AdminKey, SecretFileError> =>
  settings.adminKey === null
    ? readOrMakeSecret(
        join(settings.dataDir, "admin.key"),
        Effect.sync(() => Redacted.make(`tga-${randomBytes(32).toString("base64url")}`))
      )
    : Effect.succeed({ value: settings.adminKey, path: null, fresh: false })

export const settings = Settings.layer

/**
 * Starts loading the server at once, while `stores` open. A process that only keeps workers does
 * not load it.
 */
const serving = (settings: SettingsShape, admin: AdminKey) => {
  const server = import("./Server.ts")
  return Layer.unwrap(
    Effect.map(
      Effect.promise(() => server),
      (loaded) => loaded.serving(settings, admin)
    )
  )
}

export const layer = Layer.unwrap(
  Effect.gen(function* () {
    const settings = yield* Settings
    const admin = yield* adminKey(settings)
    const stores = database(settings)
    return Workers.isSupervisor(settings)
      ? Workers.layer(settings)
      : Layer.provide(serving(settings, admin), Layer.mergeAll(stores, Layer.provide(shared(settings), stores)))
  })
)
