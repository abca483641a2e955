/**
 * The prompt cache: an answer that was given once is given again, to the same tenant only, at no charge. Unless the settings say otherwise, it
 * is used for requests that are meant to be repeatable, and for those that ask for it. One entry serves JSON and streams. Concurrent misses of one request make one upstream call; the others wait for its answer. Failures are never
 * stored, and a cache that does not answer is a miss, never an error.
 */
import { Clock, Context, Deferred, Duration, Effect, Layer, Option, Predicate, type Scope } from "effect"
import { type ChatReply, type ChatRequest } from "../../domain/Chat.ts"
import { parseJson } from "../../domain/Json.ts"
import { onClose } from "../../domain/OnClose.ts"
import { makeTurns } from "../../domain/Turns.ts"
import { CacheStore } from "../../store/cache/CacheStore.ts"
import { cacheKey } from "./CacheKey.ts"
import { asksAfresh, type CacheControl } from "../request/CacheControl.ts"
import { type RequestPlan } from "../request/RequestPlan.ts"
import { deadlineLeftMs } from "../request/ClientDeadline.ts"

/** How long a request waits for the answer of another one, in milliseconds. After that it asks a provider itself. */
const LONGEST_WAIT_MS = 10_000

export interface CacheOptions {
  readonly enabled: boolean
  /** `deterministic`: for requests with a temperature of 0 or a seed, and those with a `max-age`. */
  readonly when: "deterministic" | "always" | "never"
  readonly ttlSeconds: number
  readonly scope: "key" | "owner"
}

/** An answer as it is kept: who gave it, for which model, and what it was. */
export interface CacheEntry {
  readonly provider: string
  readonly model: string
  readonly reply: ChatReply
}

/** `storedAtMs`: Unix time. */
interface KeptEntry extends CacheEntry {
  readonly storedAtMs: number
}

/**
 * What the cache says of a request. Whoever gets a miss ends it: `store` keeps the answer and hands it to those who wait, `fail` lets
 * each of those try for itself, `abandon` one of them. A miss whose request goes away unended is abandoned.
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

/** How the one upstream call of a flight ended for those who wait for it. */
type Landing =
  { readonly _tag: "Stored"; readonly entry: KeptEntry } | { readonly _tag: "Failed" } | { readonly _tag: "Abandoned" }

export class Cache extends Context.Service<
  Cache,
  {
    /** The name of the request's answer in the cache; null: the cache is not used for it. */
    readonly nameOf: (plan: RequestPlan<ChatRequest>, control: CacheControl) => Effect.Effect<string | null>
    /** The answer of this name, if this process has it at hand: no store is asked, and nobody is told that it is missing. */
    readonly peek: (name: string, control: CacheControl) => CacheEntry | null
    /**
     * Waits while another request for the same answer is under way, for ten seconds at most and no longer than the client does. The
     * scope is the request's.
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
        const flights = new Map<string, Deferred.Deferred<Landing>>()
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

        /** A miss that nobody waits for. */
        const alone = (name: string): Lookup => ({
          _tag: "Miss",
          store: (entry) => write(name, stamped(entry)),
          fail: Effect.void,
          abandon: Effect.void
        })

        /** The first to ask. The flight lands when it is ended, or when its request's scope closes. */
        const takeOff = (name: string) => {
          const flight = Deferred.makeUnsafe<Landing>()
          const land = (landing: Landing) =>
            Effect.suspend(() => {
              if (flights.get(name) === flight) flights.delete(name)
              Deferred.doneUnsafe(flight, Effect.succeed(landing))
              return store.leave(name)
            })
          // Not interrupted in between: a flight that others wait for always lands.
          return Effect.uninterruptible(
            Effect.suspend(() => {
              flights.set(name, flight)
              return Effect.as(onClose(land({ _tag: "Abandoned" })), land)
            })
          )
        }

        const nameOf = (plan: RequestPlan<ChatRequest>, control: CacheControl): Effect.Effect<string | null> => {
          if (!applies(plan, control)) return Effect.succeed(null)
          const { key } = plan.caller
          const tenant = options.scope === "owner" ? (key.ownerId ?? key.id) : key.id
          return cacheKey(tenant, plan.model, plan.request, turns)
        }

        const peek = (name: string, control: CacheControl): CacheEntry | null => {
          if (asksAfresh(control)) return null
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
          if (asksAfresh(control)) return alone(name)
          while (true) {
            const flight = flights.get(name)
            if (flight === undefined) {
              // The store is asked with the flight already in the air, so that nobody slips in between.
              const land = yield* takeOff(name)
              const found = yield* read(name, longestWaitMs(plan))
              if (Option.isSome(found) && isYoung(found.value, control)) {
                yield* land({ _tag: "Stored", entry: found.value })
                return hit(found.value)
              }
              return {
                _tag: "Miss",
                store: (entry) =>
                  Effect.suspend(() => {
                    const kept = stamped(entry)
                    return Effect.andThen(write(name, kept), land({ _tag: "Stored", entry: kept }))
                  }),
                fail: land({ _tag: "Failed" }),
                abandon: land({ _tag: "Abandoned" })
              } satisfies Lookup
            }
            const landing = yield* Effect.timeoutOption(Deferred.await(flight), Duration.millis(longestWaitMs(plan)))
            if (Option.isNone(landing) || landing.value._tag === "Failed") return alone(name)
            if (landing.value._tag === "Stored") {
              return isYoung(landing.value.entry, control) ? hit(landing.value.entry) : alone(name)
            }
          }
        })

        return Cache.of({ nameOf, peek, lookup, size: Effect.orElseSucceed(store.size, () => 0) })
      })
    )
}

const bypass: Lookup = { _tag: "Bypass" }
const hit = (entry: CacheEntry): Lookup => ({ _tag: "Hit", entry })

/** Whether the same answer is wanted each time: nothing is left to chance, or the chance is named. */
const isRepeatable = ({ seed, temperature }: ChatRequest): boolean =>
  temperature === 0 || (seed !== undefined && seed !== null)

/** Our own entries, checked for their outline: what another version wrote is a miss. */
const isEntry = (value: unknown): value is KeptEntry =>
  Predicate.isObject(value) &&
  Predicate.isString(value["provider"]) &&
  Predicate.isString(value["model"]) &&
  Predicate.isObject(value["reply"]) &&
  Array.isArray(value["reply"]["choices"]) &&
  Predicate.isNumber(value["storedAtMs"])

const decodeEntry = (text: string): Option.Option<KeptEntry> => Option.liftPredicate(parseJson(text), isEntry)
