/**
 * Makes requests safe to retry. Of all requests of a key with the same `Idempotency-Key`, the first
 * runs. If it ends well, its reply is stored and later requests get it again: the same generation,
 * no second charge. A request that does not end well (refused, failed, broken off, left by its
 * client) frees the key; so does an expired lease. A request fails if the first is still running,
 * or if its content differs. It also fails if the store does not answer, because it might be a
 * second one.
 */
import { Cause, Clock, Context, Duration, Effect, Layer, type Redacted, Schedule, type Scope } from "effect"
import { canonicalPieces, feed } from "../../domain/json/CanonicalJson.ts"
import { DependencyUnavailable, gatewayError, type GatewayError, IdempotencyConflict } from "../../domain/Errors.ts"
import { addFinalizer } from "../../domain/runtime/OnClose.ts"
import { TransientMap } from "../../domain/runtime/TransientMap.ts"
import { makeTurns } from "../../domain/runtime/Turns.ts"
import { type ClaimResult, IdempotencyStore } from "../../store/idempotency/IdempotencyStore.ts"
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

/** How the running request ends its use of the key. Only the first ending counts. */
export interface Turn {
  /** Stores a JSON text. A text above `MAX_KEPT_CHARACTERS` frees the key instead. */
  readonly keep: (reply: string) => Effect.Effect<void>
  readonly free: () => Effect.Effect<void>
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
     * Runs `next`, or replays the reply of the first request. Without a key it is `next()`. `scope`
     * is the request's: closing it frees a key that is still held. A short request is hashed as
     * this is called.
     */
    readonly once: <A, Kept extends KeptReply>(
      plan: RequestPlan,
      sent: SentKey | null,
      scope: Scope.Scope,
      form: () => ReplyForm<A, Kept>
    ) => <R>(next: () => Effect.Effect<A, GatewayError, R>) => Effect.Effect<A, GatewayError, R>
  }
>()("tollgate/gateway/idempotency/Idempotency") {
  static readonly layer = (options: IdempotencyOptions) =>
    Layer.effect(
      Idempotency,
      Effect.gen(function* () {
        const store = yield* IdempotencyStore
        const clock = yield* Clock.Clock
        const turns = yield* makeTurns
        /** The holders of keys in this process. */
        const running = new TransientMap<string, string>()
        const ttlMs = options.ttlSeconds * 1000
        const held: HeldKeys = { store, clock, running, ttlMs, scope: yield* Effect.scope }

        const claim = (turn: HeldTurn, scope: Scope.Scope): Effect.Effect<ClaimResult, GatewayError> => {
          const { holder, seal } = turn
          const nowMs = clock.currentTimeMillisUnsafe()
          const asked = store.claim({
            id: seal.id,
            holder,
            fingerprint: seal.fingerprint,
            nowMs,
            leaseUntilMs: nowMs + options.leaseMs,
            expiresAtMs: nowMs + ttlMs
          })
          return Effect.uninterruptible(
            Effect.matchEffect(asked, {
              onFailure: ({ dependency }) => Effect.fail(gatewayError(new DependencyUnavailable({ dependency }))),
              onSuccess: (result): Effect.Effect<ClaimResult> => {
                if (result._tag !== "Claimed") return Effect.succeed(result)
                running.set(seal.id, holder)
                return Effect.mapEager(
                  addFinalizer(scope, () => turn.free()),
                  () => result
                )
              }
            })
          )
        }

        const replayed = <A, Kept extends KeptReply>(
          seal: Seal,
          result: Exclude<ClaimResult, { readonly _tag: "Claimed" }>,
          form: ReplyForm<A, Kept>
        ): Effect.Effect<A, GatewayError> => {
          if (result.fingerprint !== seal.fingerprint) {
            return Effect.fail(gatewayError(new IdempotencyConflict({ kind: "other_body" })))
          }
          if (result._tag === "Running") return Effect.fail(gatewayError(new IdempotencyConflict({ kind: "running" })))
          return Effect.flatMap(seal.open(result.reply), (text) => {
            const kept: unknown = JSON.parse(text)
            return form.isKept(kept)
              ? form.replay(kept)
              : Effect.die(new Error("what was sealed here is no reply, which is impossible"))
          })
        }

        const once =
          <A, Kept extends KeptReply>(plan: RequestPlan, sent: SentKey, scope: Scope.Scope, form: ReplyForm<A, Kept>) =>
          <R>(next: () => Effect.Effect<A, GatewayError, R>) => {
            const sealed = sealOf(plan.caller.key.id, sent.name, sent.secret, (hmac) =>
              feed(canonicalPieces(plan.native?.body ?? plan.request), hmac.update(`${form.kind}\n`), turns)
            )
            return Effect.flatMapEager(sealed, (seal) => {
              const turn = new HeldTurn(held, seal, plan.generationId)
              return Effect.flatMap(claim(turn, scope), (result) =>
                result._tag === "Claimed"
                  ? Effect.flatMap(
                      Effect.onExitPrimitive(next(), ({ _tag }) => (_tag === "Failure" ? turn.free() : undefined)),
                      (reply) => form.keep(reply, turn)
                    )
                  : replayed(seal, result, form)
              )
            })
          }

        const renew = Effect.suspend(() =>
          running.size === 0
            ? Effect.void
            : Effect.flatMap(Clock.currentTimeMillis, (nowMs) =>
                store.renew(
                  running.entries().map(([id, holder]) => ({ id, holder })),
                  nowMs + options.leaseMs
                )
              )
        )
        yield* Effect.forkScoped(
          Effect.repeat(Effect.ignore(renew), Schedule.spaced(Duration.millis(options.leaseMs / BEATS_PER_LEASE)))
        )

        return Idempotency.of({
          once: (plan, sent, scope, form) => (next) =>
            sent === null || !options.enabled ? next() : once(plan, sent, scope, form())(next)
        })
      })
    )
}

/** What the turns of a process share. */
interface HeldKeys {
  readonly store: IdempotencyStore["Service"]
  readonly clock: Clock.Clock
  readonly running: TransientMap<string, string>
  readonly ttlMs: number
  readonly scope: Scope.Scope
}

const logged = (cause: Cause.Cause<unknown>) =>
  Effect.logError("an idempotency key cannot be written; it is freed when its lease expires", cause)

/** A turn of a request in this process. A class, because each request makes one. */
class HeldTurn implements Turn {
  readonly seal: Seal
  readonly holder: string
  readonly #keys: HeldKeys
  #isEnded = false

  constructor(keys: HeldKeys, seal: Seal, holder: string) {
    this.#keys = keys
    this.seal = seal
    this.holder = holder
  }

  keep(reply: string): Effect.Effect<void> {
    if (reply.length > MAX_KEPT_CHARACTERS) return this.free()
    const { clock, store, ttlMs } = this.#keys
    return this.#end(() =>
      Effect.flatMapEager(this.seal.close(reply), (sealed) =>
        store.complete({ id: this.seal.id, holder: this.holder }, sealed, clock.currentTimeMillisUnsafe() + ttlMs)
      )
    )
  }

  free(): Effect.Effect<void> {
    return this.#isEnded
      ? Effect.void
      : this.#end(() => this.#keys.store.release({ id: this.seal.id, holder: this.holder }))
  }

  #end(ending: () => Effect.Effect<void, StoreError>): Effect.Effect<void> {
    return Effect.uninterruptible(
      Effect.suspend(() => {
        if (this.#isEnded) return Effect.void
        const write = ending()
        this.#isEnded = true
        return Effect.matchCauseEffectEager(write, {
          onSuccess: () => this.#done(),
          onFailure: (cause) =>
            Cause.hasFails(cause) ? this.#retried(write) : Effect.flatMap(logged(cause), () => this.#done())
        })
      })
    )
  }

  #done(): Effect.Effect<void> {
    const { running } = this.#keys
    if (running.get(this.seal.id) === this.holder) running.delete(this.seal.id)
    return Effect.void
  }

  /**
   * The reply is paid for. While the database is away, the key stays taken and the write is retried
   * in the background.
   */
  #retried(write: Effect.Effect<void, StoreError>): Effect.Effect<void> {
    const written = Effect.catchCauseIf(write, (cause) => !Cause.hasFails(cause), logged)
    const retried = Effect.retry(written, TRY_AGAIN)
    return Effect.asVoid(Effect.forkIn(Effect.orDie(Effect.flatMap(retried, () => this.#done())), this.#keys.scope))
  }
}
