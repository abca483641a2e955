/**
 * The prompt cache: serves a stored answer again, to the same tenant only and free of charge. By
 * default it is used for repeatable requests and for those that ask for it. One entry serves whole
 * replies and streams. Concurrent misses of one request make one upstream call, and the others wait
 * for its answer. Failures are never stored. A cache that does not answer is a miss, never an
 * error.
 */
import { Clock, Context, Deferred, Duration, Effect, Layer, Option, Predicate, type Scope } from "effect"
import { type ChatReply, type ChatRequest } from "../../domain/Chat.ts"
import { TransientMap } from "../../domain/runtime/TransientMap.ts"
import { parseJson } from "../../domain/json/Json.ts"
import { addFinalizer } from "../../domain/runtime/OnClose.ts"
import { makeTurns } from "../../domain/runtime/Turns.ts"
import { CacheStore } from "../../store/cache/CacheStore.ts"
import { cacheKey, ToolDigests } from "./CacheKey.ts"
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
 * The request that gets a miss ends it: `store` stores the answer and gives it to the waiting
 * requests, `fail` lets each of them call a provider, `abandon` lets one of them. Only the first
 * end counts. A miss is abandoned when its request's scope closes.
 */
export interface Miss {
  readonly _tag: "Miss"
  readonly store: (entry: CacheEntry) => Effect.Effect<void>
  readonly fail: () => Effect.Effect<void>
  readonly abandon: () => Effect.Effect<void>
}

export type Lookup = { readonly _tag: "Bypass" } | { readonly _tag: "Hit"; readonly entry: CacheEntry } | Miss

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
     * client's deadline. Without a wait, memory is read as this is called. `scope` is the
     * request's.
     */
    readonly lookup: (
      name: string | null,
      control: CacheControl,
      plan: Pick<RequestPlan<unknown>, "deadline" | "startedAtMs">,
      scope: Scope.Scope
    ) => Effect.Effect<Lookup>
    readonly size: Effect.Effect<number>
  }
>()("tollgate/gateway/cache/Cache") {
  static readonly layer = (options: CacheOptions) =>
    Layer.effect(
      Cache,
      Effect.gen(function* () {
        const store = yield* CacheStore
        const inFlight = new TransientMap<string, Flight>()
        const turns = yield* makeTurns
        const toolDigests = new ToolDigests()

        const clock = yield* Clock.Clock

        const longestWaitMs = (plan: Pick<RequestPlan<unknown>, "deadline" | "startedAtMs">) =>
          Math.max(0, Math.min(LONGEST_WAIT_MS, deadlineLeftMs(plan, clock.currentTimeMillisUnsafe())))

        const read = (name: string, waitMs: number) =>
          Effect.matchEager(store.join(name, clock.currentTimeMillisUnsafe(), waitMs), {
            onFailure: () => Option.none<KeptEntry>(),
            onSuccess: Option.flatMap(decodeEntry)
          })

        const stamped = (entry: CacheEntry): KeptEntry => ({ ...entry, storedAtMs: clock.currentTimeMillisUnsafe() })

        const write = (name: string, entry: KeptEntry): Effect.Effect<void> =>
          Effect.catchEager(
            store.set(name, JSON.stringify(entry), options.ttlSeconds * 1000, clock.currentTimeMillisUnsafe()),
            (error) => Effect.logWarning(error.message)
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
          fail: () => Effect.void,
          abandon: () => Effect.void
        })

        /** The first request for an answer. */
        class Flight implements Miss {
          readonly _tag = "Miss"
          readonly #name: string
          /** For the requests that wait; null: there are none. */
          #result: Deferred.Deferred<FlightResult> | null = null
          #isOver = false
          #hasLeft = false

          constructor(name: string) {
            this.#name = name
          }

          get result(): Effect.Effect<FlightResult> {
            return Deferred.await((this.#result ??= Deferred.makeUnsafe<FlightResult>()))
          }

          store(entry: CacheEntry): Effect.Effect<void> {
            const kept = stamped(entry)
            return Effect.flatMapEager(write(this.#name, kept), () => this.end({ _tag: "Stored", entry: kept }))
          }

          fail(): Effect.Effect<void> {
            return this.end({ _tag: "Failed" })
          }

          abandon(): Effect.Effect<void> {
            return this.end({ _tag: "Abandoned" })
          }

          end(result: FlightResult): Effect.Effect<void> {
            if (!this.#isOver) {
              this.#isOver = true
              inFlight.delete(this.#name)
              if (this.#result !== null) Deferred.doneUnsafe(this.#result, Effect.succeed(result))
            }
            return this.#hasLeft
              ? Effect.void
              : Effect.mapEager(store.leave(this.#name), () => {
                  this.#hasLeft = true
                })
          }
        }

        const keyOf = (plan: RequestPlan<ChatRequest>, control: CacheControl): Effect.Effect<string | null> => {
          if (!applies(plan, control)) return Effect.succeed(null)
          const { key } = plan.caller
          const tenant = options.scope === "owner" ? (key.ownerId ?? key.id) : key.id
          return cacheKey(tenant, plan.named?.snapshot ?? plan.model, plan.request, turns, toolDigests)
        }

        const peek = (name: string, control: CacheControl): CacheEntry | null => {
          if (wantsNewAnswer(control)) return null
          const text = store.peek(name, clock.currentTimeMillisUnsafe())
          const entry = text === undefined ? null : Option.getOrNull(decodeEntry(text))
          return entry !== null && isYoung(entry, control) ? entry : null
        }

        /** Begins the first request for an answer. */
        const begin = (
          name: string,
          control: CacheControl,
          plan: Pick<RequestPlan<unknown>, "deadline" | "startedAtMs">,
          scope: Scope.Scope
        ): Effect.Effect<Lookup> => {
          const flight = new Flight(name)
          // The store is read after this, so that a second request cannot start in between.
          inFlight.set(name, flight)
          return Effect.flatMapEager(
            addFinalizer(scope, () => flight.abandon()),
            () =>
              Effect.flatMapEager(read(name, longestWaitMs(plan)), (found) => {
                if (Option.isNone(found) || !isYoung(found.value, control)) return Effect.succeed(flight)
                const entry = found.value
                return Effect.mapEager(flight.end({ _tag: "Stored", entry }), () => hit(entry))
              })
          )
        }

        const lookup: Cache["Service"]["lookup"] = (name, control, plan, scope) => {
          if (name === null) return bypass
          if (wantsNewAnswer(control)) return Effect.succeed(alone(name))
          const flight = inFlight.get(name)
          if (flight === undefined) return begin(name, control, plan, scope)
          const waited = Effect.timeoutOption(flight.result, Duration.millis(longestWaitMs(plan)))
          return Effect.flatMap(waited, (result) => {
            if (Option.isNone(result) || result.value._tag === "Failed") return Effect.succeed(alone(name))
            if (result.value._tag === "Abandoned") return lookup(name, control, plan, scope)
            return Effect.succeed(isYoung(result.value.entry, control) ? hit(result.value.entry) : alone(name))
          })
        }

        return Cache.of({ keyOf, peek, lookup, size: Effect.orElseSucceed(store.size, () => 0) })
      })
    )
}

const bypass = Effect.succeed<Lookup>({ _tag: "Bypass" })
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
