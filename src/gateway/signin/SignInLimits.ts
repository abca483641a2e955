/**
 * How often somebody may try to sign in, counted in the limit store and so for all processes together. Who asks is known by network
 * address, who is asked for by a keyed hash: no address or number gets into the limit store. The limit store failing fails the request.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { isIPv6 } from "node:net"
import { gatewayError, type GatewayError, SignInLimited } from "../../domain/Errors.ts"
import { Limits } from "../../store/limits/Limits.ts"
import { orUnavailable } from "../StoreUnavailable.ts"
import { HmacKey } from "./HmacKey.ts"

const WRONG_ADMIN_KEYS_PER_MINUTE = 10
/** How many networks are remembered as shut, by each process. */
const SHUT_NETWORKS = 10_000
const UNBOUNDED = 1_000_000_000

export class SignInLimits extends Context.Service<
  SignInLimits,
  {
    /**
     * One more of `kind` from a network address. An IPv6 address counts by its /64, which a subscriber has, and more widely by its /56 and /48,
     * which some have.
     */
    readonly byAddress: (kind: string, address: string, perMinute: number) => Effect.Effect<void, GatewayError>
    /** One more for a destination from a network, which is an IPv4 address or a /48. */
    readonly byDestination: (
      destination: string,
      address: string,
      perMinute: number
    ) => Effect.Effect<void, GatewayError>
    readonly byUser: (kind: string, userId: string, perMinute: number) => Effect.Effect<void, GatewayError>
    /**
     * One more of all. A fifth of it is kept for networks that come for the first time in a minute, so that a few of them cannot use up
     * everybody's.
     */
    readonly global: (kind: string, address: string, perMinute: number) => Effect.Effect<void, GatewayError>
    /** Refuses a network address from which too many wrong admin keys came. */
    readonly mayTryAdminKey: (address: string) => Effect.Effect<void, GatewayError>
    /** One more wrong admin key from a network address; refuses it when it was one too many. */
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

      /** Networks whose admin keys are not looked at, until when; the oldest leave first. */
      const shut = new Map<string, number>()

      const mayTryAdminKey = Effect.fnUntraced(function* (address: string) {
        const leftMs = (shut.get(networkOf(address)) ?? 0) - (yield* Clock.currentTimeMillis)
        if (leftMs > 0) return yield* gatewayError(new SignInLimited({ retryAfterMs: leftMs }))
      })

      const wrongAdminKey = Effect.fnUntraced(function* (address: string) {
        const network = networkOf(address)
        const nowMs = yield* Clock.currentTimeMillis
        yield* Effect.tapError(take(`admin:address:${network}`, WRONG_ADMIN_KEYS_PER_MINUTE), ({ reason }) =>
          Effect.sync(() => {
            if (reason._tag !== "SignInLimited") return
            shut.delete(network)
            shut.set(network, nowMs + reason.retryAfterMs)
            const [oldest] = shut.size > SHUT_NETWORKS ? shut.keys() : []
            if (oldest !== undefined) shut.delete(oldest)
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
          const kept = Math.floor(perMinute / 5)
          const first = yield* Effect.result(take(`${kind}:first:${widestNetworkOf(address)}`, 1))
          const common = take(`${kind}:global`, perMinute - kept)
          if (first._tag === "Failure" || kept === 0) return yield* common
          yield* Effect.catch(common, () => take(`${kind}:reserve`, kept))
        })
      }
    })
  )
}

/** An IPv6 address as its first four groups, an IPv4 address as it is, also where it is written inside an IPv6 one. */
export const networkOf = (address: string): string => {
  const groups = groupsOf(address)
  return typeof groups === "string" ? groups : groups.join(":")
}

/** The same, and of an IPv6 address its /56 and its /48 too. */
export const networksOf = (address: string): ReadonlyArray<string> => {
  const groups = groupsOf(address)
  if (typeof groups === "string") return [groups]
  const [first, second, third, fourth = "0"] = groups
  const site = [first, second, third].join(":")
  return [groups.join(":"), `${site}:${Math.floor(Number.parseInt(fourth, 16) / 256).toString(16)}/56`, `${site}/48`]
}

export const widestNetworkOf = (address: string): string => networksOf(address).at(-1) ?? address

/** The first four groups of an IPv6 address; an address of another kind as it is. */
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
