/**
 * The prompt cache: serves a stored answer again, to the same tenant only and free of charge. By
 * default it is used for repeatable requests and for those that ask for it. One entry serves whole
 * replies and streams. Concurrent misses of one request make one upstream call, and the others wait
 * for its answer. Failures are never stored. A cache that does not answer is a miss, never an
 * error.
 */
import { Clock, Context, Deferred, Duration, Effect, Layer, Option, Predicate, type Scope } from "effect"
import { type ChatReply, type ChatRequest } from "../../domain/Chat.ts"
import { parseJson } from "../../domain/json/Json.ts"
import { onClose } from "../../domain/OnClose.ts"
import { makeTurns } from "../../domain/Turns.ts"
import { CacheStore } from "../../store/cache/CacheStore.ts"
import { cacheKey } from "./CacheKey.ts"
import { wantsNewAnswer, type CacheControl } from "../request/CacheControl.ts"
import { type RequestPlan } from "../request/RequestPlan.ts"
import { deadlineLeftMs } from "../request/ClientDeadline.ts"

/**
 * How long a request waits for another request's answer, in milliseconds. Then it calls a provider
 * itself.
 */
const LONGEST_WAIT_MS = 10_000

export interface CacheOptions {
  readonly enabled: boolean
  /** `deterministic`: for requests with a temperature of 0, a seed or a `max-age`. */
  readonly when: "deterministic" | "always" | "never"
  readonly ttlSeconds: number
  readonly scope: "key" | "owner"
}

/** A stored answer: its provider, model and reply. */
export interface CacheEntry {
  readonly provider: string
  readonly model: string
  readonly reply: ChatReply
  /** The members of the request that the provider did not get; undefined: it got all of them. */
  readonly dropped?: ReadonlyArray<string>
}

/** `storedAtMs`: Unix time. */
interface KeptEntry extends CacheEntry {
  readonly storedAtMs: number
}

/**
 * The result of a lookup. The request that gets a miss ends it: `store` stores the answer and gives
 * it to the waiting requests, `fail` lets each of them call a provider, `abandon` lets one of them.
 * A miss is abandoned when its request's scope closes.
 */
export type Lookup =
  | { readonly _tag: "Bypass" }
  | { readonly _tag: "Hit"; readonly entry: CacheEntry }
  | {
      readonly _tag: "Miss"
      readonly store: (entry: CacheEntry) => Effect.Effect<void>
      readonly fail: Effect.Effect<void>
      readonly abandon: Effect.Effect<void>
    }

/** The result of the one upstream call, for the requests that wait for it. */
type FlightResult =
  { readonly _tag: "Stored"; readonly entry: KeptEntry } | { readonly _tag: "Failed" } | { readonly _tag: "Abandoned" }

export class Cache extends Context.Service<
  Cache,
  {
    /** The cache key of the request; null: the cache is not used for it. */
    readonly keyOf: (plan: RequestPlan<ChatRequest>, control: CacheControl) => Effect.Effect<string | null>
    /**
     * The answer with this key, if this process has it in memory. It asks no store and counts no
     * miss.
     */
    readonly peek: (name: string, control: CacheControl) => CacheEntry | null
    /**
     * Waits while another request for the same answer is running, at most ten seconds and until the
     * client's deadline. The scope is the request's.
     */
    readonly lookup: (
      name: string | null,
      control: CacheControl,
      plan: Pick<RequestPlan<unknown>, "deadline" | "startedAtMs">
    ) => Effect.Effect<Lookup, never, Scope.Scope>
    readonly size: Effect.Effect<number>
  }
>()("tollgate/gateway/cache/Cache") {
  static readonly layer = (options: CacheOptions) =>
    Layer.effect(
      Cache,
      Effect.gen(function* () {
        const store = yield* CacheStore
        const inFlight = new Map<string, Deferred.Deferred<FlightResult>>()
        const turns = yield* makeTurns

        const clock = yield* Clock.Clock

        const longestWaitMs = (plan: Pick<RequestPlan<unknown>, "deadline" | "startedAtMs">) =>
          Math.max(0, Math.min(LONGEST_WAIT_MS, deadlineLeftMs(plan, clock.currentTimeMillisUnsafe())))

        const read = (name: string, waitMs: number) =>
          Effect.match(store.join(name, clock.currentTimeMillisUnsafe(), waitMs), {
            onFailure: () => Option.none<KeptEntry>(),
            onSuccess: Option.flatMap(decodeEntry)
          })

        const stamped = (entry: CacheEntry): KeptEntry => ({ ...entry, storedAtMs: clock.currentTimeMillisUnsafe() })

        const write = (name: string, entry: KeptEntry) =>
          Effect.suspend(() =>
            Effect.catch(
              store.set(name, JSON.stringify(entry), options.ttlSeconds * 1000, clock.currentTimeMillisUnsafe()),
              (error) => Effect.logWarning(error.message)
            )
          )

        const applies = ({ request }: RequestPlan<ChatRequest>, control: CacheControl): boolean =>
          options.enabled &&
          options.when !== "never" &&
          control !== "no-store" &&
          (options.when === "always" || typeof control === "object" || isRepeatable(request))

        const isYoung = ({ storedAtMs }: KeptEntry, control: CacheControl): boolean =>
          typeof control !== "object" || clock.currentTimeMillisUnsafe() - storedAtMs < control.maxAgeSeconds * 1000

        /** A miss that no other request waits for. */
        const alone = (name: string): Lookup => ({
          _tag: "Miss",
          store: (entry) => write(name, stamped(entry)),
          fail: Effect.void,
          abandon: Effect.void
        })

        /**
         * Registers the first request for an answer. The registration ends with the miss, or when
         * the request's scope closes.
         */
        const register = (name: string) => {
          const flight = Deferred.makeUnsafe<FlightResult>()
          const resolve = (result: FlightResult) =>
            Effect.suspend(() => {
              if (inFlight.get(name) === flight) inFlight.delete(name)
              Deferred.doneUnsafe(flight, Effect.succeed(result))
              return store.leave(name)
            })
          // Uninterruptible, so that every registration is resolved: other requests wait for it.
          return Effect.uninterruptible(
            Effect.suspend(() => {
              inFlight.set(name, flight)
              return Effect.as(onClose(resolve({ _tag: "Abandoned" })), resolve)
            })
          )
        }

        const keyOf = (plan: RequestPlan<ChatRequest>, control: CacheControl): Effect.Effect<string | null> => {
          if (!applies(plan, control)) return Effect.succeed(null)
          const { key } = plan.caller
          const tenant = options.scope === "owner" ? (key.ownerId ?? key.id) : key.id
          return cacheKey(tenant, plan.named?.snapshot ?? plan.model, plan.request, turns)
        }

        const peek = (name: string, control: CacheControl): CacheEntry | null => {
          if (wantsNewAnswer(control)) return null
          const text = store.peek(name, clock.currentTimeMillisUnsafe())
          const entry = text === undefined ? null : Option.getOrNull(decodeEntry(text))
          return entry !== null && isYoung(entry, control) ? entry : null
        }

        const lookup = Effect.fnUntraced(function* (
          name: string | null,
          control: CacheControl,
          plan: Pick<RequestPlan<unknown>, "deadline" | "startedAtMs">
        ) {
          if (name === null) return bypass
          if (wantsNewAnswer(control)) return alone(name)
          while (true) {
            const flight = inFlight.get(name)
            if (flight === undefined) {
              // The store is read after the registration, so that a second request cannot start in
              // between.
              const resolve = yield* register(name)
              const found = yield* read(name, longestWaitMs(plan))
              if (Option.isSome(found) && isYoung(found.value, control)) {
                yield* resolve({ _tag: "Stored", entry: found.value })
                return hit(found.value)
              }
              return {
                _tag: "Miss",
                store: (entry) =>
                  Effect.suspend(() => {
                    const kept = stamped(entry)
                    return Effect.andThen(write(name, kept), resolve({ _tag: "Stored", entry: kept }))
                  }),
                fail: resolve({ _tag: "Failed" }),
                abandon: resolve({ _tag: "Abandoned" })
              } satisfies Lookup
            }
            const result = yield* Effect.timeoutOption(Deferred.await(flight), Duration.millis(longestWaitMs(plan)))
            if (Option.isNone(result) || result.value._tag === "Failed") return alone(name)
            if (result.value._tag === "Stored") {
              return isYoung(result.value.entry, control) ? hit(result.value.entry) : alone(name)
            }
          }
        })

        return Cache.of({ keyOf, peek, lookup, size: Effect.orElseSucceed(store.size, () => 0) })
      })
    )
}

const bypass: Lookup = { _tag: "Bypass" }
const hit = (entry: CacheEntry): Lookup => ({ _tag: "Hit", entry })

/** Whether the request asks for the same answer each time: temperature 0 or a seed. */
const isRepeatable = ({ seed, temperature }: ChatRequest): boolean =>
  temperature === 0 || (seed !== undefined && seed !== null)

/** Checks the outline of an entry. An entry of another version is a miss. */
const isEntry = (value: unknown): value is KeptEntry =>
  Predicate.isObject(value) &&
  Predicate.isString(value["provider"]) &&
  Predicate.isString(value["model"]) &&
  Predicate.isObject(value["reply"]) &&
  Array.isArray(value["reply"]["choices"]) &&
  Predicate.isNumber(value["storedAtMs"])

const decodeEntry = (text: string): Option.Option<KeptEntry> => Option.liftPredicate(parseJson(text), isEntry)
