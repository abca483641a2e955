/**
 * Places of conversations in Redis: one string per conversation under `tollgate:conversation:`,
 * which Redis expires. Names leave the process as keyed digests, so that Redis shows nothing of a
 * prompt or an id. Writes wait in a bounded queue and never delay a request; those that do not fit,
 * or fail, are dropped. What this process knows needs no round trip.
 */
import { createHmac, createSecretKey, type KeyObject, randomBytes } from "node:crypto"
import { Effect, Layer, Queue, Redacted } from "effect"
import { Redis } from "effect/persistence"
import { SecretStore } from "../secrets/SecretStore.ts"
import { StoreError } from "../StoreError.ts"
import { CONVERSATION_TTL_MS, ConversationStore } from "./ConversationStore.ts"
import { RecentPlaces } from "./RecentPlaces.ts"

const prefix = "tollgate:conversation:"
const KEY_BYTES = 32
/** The most writes that wait. */
const MOST_WAITING = 1_000
/** The most writes that run at the same time. */
const MOST_AT_ONCE = 32
/** A place that is unchanged is written again after this time, before Redis expires it. */
const REFRESH_MS = CONVERSATION_TTL_MS / 4

const makeConversationRedis = Effect.gen(function* () {
  const redis = yield* Redis.Redis
  const secrets = yield* SecretStore
  const places = new RecentPlaces()
  const waiting = yield* Queue.dropping<readonly [name: string, place: string]>(MOST_WAITING)

  let secret: KeyObject | null = null
  const make = Effect.sync(() => randomBytes(KEY_BYTES).toString("base64url"))
  const keyed = (name: string): Effect.Effect<string, StoreError> =>
    Effect.suspend(() =>
      secret === null
        ? Effect.map(
            secrets.getOrCreate("conversations", make),
            (made) => (secret = createSecretKey(Redacted.value(made), "utf8"))
          )
        : Effect.succeed(secret)
    ).pipe(Effect.map((key) => prefix + createHmac("sha256", key).update(name).digest("base64url")))

  const write = ([name, place]: readonly [string, string]) =>
    Effect.ignore(
      Effect.flatMap(keyed(name), (key) => redis.send("SET", key, place, "PX", String(CONVERSATION_TTL_MS)))
    )
  yield* Queue.takeAll(waiting).pipe(
    Effect.flatMap((writes) => Effect.forEach(writes, write, { concurrency: MOST_AT_ONCE, discard: true })),
    Effect.forever,
    Effect.forkScoped
  )

  return ConversationStore.of({
    peek: (name, nowMs) => places.get(name, nowMs)?.place,
    get: Effect.fnUntraced(function* (name, nowMs) {
      const known = places.get(name, nowMs)
      if (known !== undefined) return known.place
      const key = yield* keyed(name)
      const place = yield* Effect.mapError(redis.send<string | null>("GET", key), unavailable)
      if (place === null) return undefined
      places.set(name, place, nowMs)
      return place
    }),
    put: (name, place, nowMs) => {
      const known = places.get(name, nowMs)
      const toldAtMs = known?.place === place ? known.toldAtMs : null
      const isTold = toldAtMs !== null && nowMs - toldAtMs < REFRESH_MS
      if (isTold) places.set(name, place, nowMs, toldAtMs)
      else places.set(name, place, nowMs, Queue.offerUnsafe(waiting, [name, place]) ? nowMs : null)
    }
  })
})

const unavailable = (error: Redis.RedisError): StoreError =>
  new StoreError({ dependency: "limit_store", cause: error.cause })

/** Shared by all processes on one Redis. */
export const layer = Layer.effect(ConversationStore, makeConversationRedis)
