/**
 * Rate limits of sign-in attempts, counted in the limit store and hence across all processes.
 * Callers are identified by network address, and destinations by a keyed hash, so no e-mail address
 * or phone number reaches the limit store. A failure of the limit store fails the request.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { isIPv6 } from "node:net"
import { gatewayError, type GatewayError, SignInLimited } from "../../domain/Errors.ts"
import { Limits } from "../../store/limits/Limits.ts"
import { orUnavailable } from "../StoreUnavailable.ts"
import { HmacKey } from "./HmacKey.ts"

const WRONG_ADMIN_KEYS_PER_MINUTE = 10
/** Most blocked networks that a process stores. */
const MAX_BLOCKED_NETWORKS = 10_000
const UNBOUNDED = 1_000_000_000

export class SignInLimits extends Context.Service<
  SignInLimits,
  {
    /**
     * Counts one attempt of `kind` from a network address. An IPv6 address counts against its /64,
     * the usual size of a subscriber's network, and with higher limits against its /56 and /48,
     * which some subscribers have.
     */
    readonly byAddress: (kind: string, address: string, perMinute: number) => Effect.Effect<void, GatewayError>
    /** Counts one attempt for a destination from a network: an IPv4 address or a /48. */
    readonly byDestination: (
      destination: string,
      address: string,
      perMinute: number
    ) => Effect.Effect<void, GatewayError>
    readonly byUser: (kind: string, userId: string, perMinute: number) => Effect.Effect<void, GatewayError>
    /**
     * Counts one attempt against the global limit. A fifth of the limit is reserved for networks
     * with no other attempt in the last minute, so that a few networks cannot exhaust it.
     */
    readonly global: (kind: string, address: string, perMinute: number) => Effect.Effect<void, GatewayError>
    /** Refuses a network address that sent too many wrong admin keys. */
    readonly mayTryAdminKey: (address: string) => Effect.Effect<void, GatewayError>
    /**
     * Counts one wrong admin key from a network address. Refuses the one that exceeds the limit.
     */
    readonly wrongAdminKey: (address: string) => Effect.Effect<void, GatewayError>
  }
>()("tollgate/gateway/signin/SignInLimits") {
  static readonly layer = Layer.effect(
    SignInLimits,
    Effect.gen(function* () {
      const limits = yield* Limits
      const hmacKey = yield* HmacKey

      const take = Effect.fnUntraced(function* (bucket: string, perMinute: number) {
        const verdict = yield* orUnavailable(
          limits.acquire({
            keyId: `sign-in:${bucket}`,
            leaseId: "one",
            limits: { requestsPerMinute: perMinute, tokensPerMinute: UNBOUNDED, concurrency: UNBOUNDED },
            tokens: 0,
            nowMs: yield* Clock.currentTimeMillis,
            leaseMs: 1
          })
        )
        if (verdict.refusedBy !== null) {
          return yield* gatewayError(new SignInLimited({ retryAfterMs: verdict.retryAfterMs }))
        }
      })

      /**
       * Networks whose admin keys are refused unchecked, with the end of the block. The oldest
       * block is dropped first.
       */
      const blocked = new Map<string, number>()

      const mayTryAdminKey = Effect.fnUntraced(function* (address: string) {
        const leftMs = (blocked.get(networkOf(address)) ?? 0) - (yield* Clock.currentTimeMillis)
        if (leftMs > 0) return yield* gatewayError(new SignInLimited({ retryAfterMs: leftMs }))
      })

      const wrongAdminKey = Effect.fnUntraced(function* (address: string) {
        const network = networkOf(address)
        const nowMs = yield* Clock.currentTimeMillis
        yield* Effect.tapError(take(`admin:address:${network}`, WRONG_ADMIN_KEYS_PER_MINUTE), ({ reason }) =>
          Effect.sync(() => {
            if (reason._tag !== "SignInLimited") return
            blocked.delete(network)
            blocked.set(network, nowMs + reason.retryAfterMs)
            const [oldest] = blocked.size > MAX_BLOCKED_NETWORKS ? blocked.keys() : []
            if (oldest !== undefined) blocked.delete(oldest)
          })
        )
      })

      return {
        mayTryAdminKey,
        wrongAdminKey,
        byAddress: (kind, address, perMinute) =>
          Effect.forEach(
            networksOf(address),
            (network, wider) => take(`${kind}:address:${network}`, perMinute * 2 ** wider),
            { discard: true }
          ),
        byDestination: (destination, address, perMinute) =>
          Effect.flatMap(hmacKey.hash("destination", `${destination} ${widestNetworkOf(address)}`), (hash) =>
            take(`destination:${hash}`, perMinute)
          ),
        byUser: (kind, userId, perMinute) => take(`${kind}:user:${userId}`, perMinute),
        global: Effect.fnUntraced(function* (kind, address, perMinute) {
          const reserved = Math.floor(perMinute / 5)
          const first = yield* Effect.result(take(`${kind}:first:${widestNetworkOf(address)}`, 1))
          const common = take(`${kind}:global`, perMinute - reserved)
          if (first._tag === "Failure" || reserved === 0) return yield* common
          yield* Effect.catch(common, () => take(`${kind}:reserve`, reserved))
        })
      }
    })
  )
}

/**
 * The first four groups of an IPv6 address, or the IPv4 address, also when it is embedded in an
 * IPv6 one.
 */
export const networkOf = (address: string): string => {
  const groups = groupsOf(address)
  return typeof groups === "string" ? groups : groups.join(":")
}

/** Like `networkOf`, and for an IPv6 address also its /56 and its /48. */
export const networksOf = (address: string): ReadonlyArray<string> => {
  const groups = groupsOf(address)
  if (typeof groups === "string") return [groups]
  const [first, second, third, fourth = "0"] = groups
  const site = [first, second, third].join(":")
  return [groups.join(":"), `${site}:${Math.floor(Number.parseInt(fourth, 16) / 256).toString(16)}/56`, `${site}/48`]
}

export const widestNetworkOf = (address: string): string => networksOf(address).at(-1) ?? address

/** The first four groups of an IPv6 address. Any other address is returned as it is. */
const groupsOf = (address: string): string | ReadonlyArray<string> => {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  if (!isIPv6(address)) return address
  const [head = "", tail = ""] = address.split("%", 1).join("").toLowerCase().split("::")
  const front = head === "" ? [] : head.split(":")
  const back = tail === "" ? [] : tail.split(":")
  const zeros = Array.from({ length: Math.max(0, 8 - front.length - back.length) }, () => "0")
  return [...front, ...zeros, ...back].slice(0, 4).map((group) => group.replace(/^0+(?=.)/, ""))
}
