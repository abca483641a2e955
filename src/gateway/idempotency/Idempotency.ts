/**
 * Makes requests safe to retry. Of all requests of a key with the same `Idempotency-Key`, the first
 * runs. If it ends well, its reply is stored and later requests get it again: the same generation,
 * no second charge. A request that does not end well (refused, failed, broken off, left by its
 * client) frees the key; so does an expired lease. A request fails if the first is still running,
 * or if its content differs. It also fails if the store does not answer, because it might be a
 * second one.
 */
import { Clock, Context, Duration, Effect, Layer, type Redacted, Schedule, type Scope } from "effect"
import { canonicalPieces, feed } from "../../domain/json/CanonicalJson.ts"
import { DependencyUnavailable, gatewayError, type GatewayError, IdempotencyConflict } from "../../domain/Errors.ts"
import { acquired } from "../../domain/OnClose.ts"
import { makeTurns } from "../../domain/Turns.ts"
import { IdempotencyStore } from "../../store/idempotency/IdempotencyStore.ts"
import { type StoreError } from "../../store/StoreError.ts"
import { type RequestPlan } from "../request/RequestPlan.ts"
import { type Seal, sealOf } from "./SealedReply.ts"

export interface IdempotencyOptions {
  readonly enabled: boolean
  /** How long a reply is kept. */
  readonly ttlSeconds: number
  /**
   * How long a request keeps its key after the last heartbeat of its process: as long as its
   * reservation.
   */
  readonly leaseMs: number
}

/** The client's idempotency key. */
export interface SentKey {
  readonly name: string
  /** The secret of the API key. */
  readonly secret: Redacted.Redacted
}

/** How one kind of reply is stored and replayed. `Kept` is JSON. */
export interface ReplyForm<A, Kept extends KeptReply> {
  readonly kind: "chat" | "embeddings"
  /** Passes the reply on, and ends the turn once all of it is known. */
  readonly keep: (reply: A, turn: Turn) => Effect.Effect<A>
  readonly isKept: (value: unknown) => value is Kept
  /** Replays the reply of the first request. */
  readonly replay: (kept: Kept) => Effect.Effect<A>
}

/** The part of every stored reply that the edge needs. */
export interface KeptReply {
  readonly generationId: string
  readonly provider: string
}

/** How the running request ends its use of the key. Only the first call counts. */
export interface Turn {
  /** Stores a JSON text. A text above `MAX_KEPT_CHARACTERS` frees the key instead. */
  readonly keep: (reply: string) => Effect.Effect<void>
  readonly free: Effect.Effect<void>
}

/** Longer replies are not stored. */
export const MAX_KEPT_CHARACTERS = 8_388_608

/** The number of heartbeats in a lease. */
const BEATS_PER_LEASE = 5
const TRY_AGAIN = Schedule.spaced("1 second")

export class Idempotency extends Context.Service<
  Idempotency,
  {
    /**
     * Runs `next`, or replays the reply of the first request. Without a key it is `next()`.
     */
    readonly once: <A, Kept extends KeptReply>(
      plan: RequestPlan,
      sent: SentKey | null,
      form: () => ReplyForm<A, Kept>
    ) => <R>(next: () => Effect.Effect<A, GatewayError, R>) => Effect.Effect<A, GatewayError, R | Scope.Scope>
  }
>()("tollgate/gateway/idempotency/Idempotency") {
  static readonly layer = (options: IdempotencyOptions) =>
    Layer.effect(
      Idempotency,
      Effect.gen(function* () {
        const store = yield* IdempotencyStore
        const scope = yield* Effect.scope
        const turns = yield* makeTurns
        /** The holders of keys in this process. */
        const running = new Map<string, string>()

        const turnOf = (seal: Seal, holder: string): Turn => {
          const held = { id: seal.id, holder }
          let ended = false
          const end = (ending: Effect.Effect<void, StoreError>) =>
            Effect.suspend(() => {
              if (ended) return Effect.void
              ended = true
              const done = Effect.sync(() => {
                if (running.get(seal.id) === holder) running.delete(seal.id)
              })
              const written = Effect.catchDefect(ending, (defect) =>
                Effect.logError("an idempotency key cannot be written; it is freed when its lease expires", defect)
              )
              // The reply is paid for. While the database is away, the key stays taken and the
              // write is retried.
              return Effect.catch(Effect.andThen(written, done), () =>
                Effect.retry(written, TRY_AGAIN).pipe(
                  Effect.andThen(done),
                  Effect.orDie,
                  Effect.forkIn(scope),
                  Effect.asVoid
                )
              )
            }).pipe(Effect.uninterruptible)
          const free = end(store.release(held))
          return {
            free,
            keep: (reply) =>
              reply.length > MAX_KEPT_CHARACTERS
                ? free
                : Effect.flatMap(Effect.zip(seal.close(reply), Clock.currentTimeMillis), ([sealed, nowMs]) =>
                    end(store.complete(held, sealed, nowMs + options.ttlSeconds * 1000))
                  ).pipe(Effect.uninterruptible)
          }
        }

        const claim = ({ generationId }: RequestPlan, seal: Seal) => {
          const turn = turnOf(seal, generationId)
          const asked = Effect.gen(function* () {
            const nowMs = yield* Clock.currentTimeMillis
            const result = yield* store.claim({
              id: seal.id,
              holder: generationId,
              fingerprint: seal.fingerprint,
              nowMs,
              leaseUntilMs: nowMs + options.leaseMs,
              expiresAtMs: nowMs + options.ttlSeconds * 1000
            })
            if (result._tag === "Claimed") running.set(seal.id, generationId)
            return { result, turn }
          })
          return acquired(
            Effect.mapError(asked, ({ dependency }) => gatewayError(new DependencyUnavailable({ dependency }))),
            ({ result }) => (result._tag === "Claimed" ? turn.free : Effect.void)
          )
        }

        const once =
          <A, Kept extends KeptReply>(plan: RequestPlan, sent: SentKey, form: ReplyForm<A, Kept>) =>
          <R>(next: Effect.Effect<A, GatewayError, R>) =>
            Effect.gen(function* () {
              const seal = yield* sealOf(plan.caller.key.id, sent.name, sent.secret, (hmac) =>
                feed(canonicalPieces(plan.native?.body ?? plan.request), hmac.update(`${form.kind}\n`), turns)
              )
              const { result, turn } = yield* claim(plan, seal)
              if (result._tag === "Claimed") {
                const reply = yield* Effect.onError(next, () => turn.free)
                return yield* form.keep(reply, turn)
              }
              if (result.fingerprint !== seal.fingerprint) {
                return yield* gatewayError(new IdempotencyConflict({ kind: "other_body" }))
              }
              if (result._tag === "Running") return yield* gatewayError(new IdempotencyConflict({ kind: "running" }))
              const kept: unknown = JSON.parse(yield* seal.open(result.reply))
              if (!form.isKept(kept))
                return yield* Effect.die(new Error("what was sealed here is no reply, which is impossible"))
              return yield* form.replay(kept)
            })

        const renew = Effect.suspend(() =>
          running.size === 0
            ? Effect.void
            : Effect.flatMap(Clock.currentTimeMillis, (nowMs) =>
                store.renew(
                  Array.from(running, ([id, holder]) => ({ id, holder })),
                  nowMs + options.leaseMs
                )
              )
        )
        yield* Effect.forkScoped(
          Effect.repeat(Effect.ignore(renew), Schedule.spaced(Duration.millis(options.leaseMs / BEATS_PER_LEASE)))
        )

        return Idempotency.of({
          once: (plan, sent, form) => (next) =>
            sent === null || !options.enabled ? next() : once(plan, sent, form())(Effect.suspend(next))
        })
      })
    )
}
