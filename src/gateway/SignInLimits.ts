/**
 * How often somebody may try to sign in, counted in the limit store and so for all processes together. Who asks is known by network
 * address, who is asked for by a keyed hash: no address or number gets into the limit store. The limit store failing fails the request.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { isIPv6 } from "node:net"
import { gatewayError, type GatewayError, SignInLimited } from "../domain/Errors.ts"
import { Limits } from "../store/Limits.ts"
import { orUnavailable } from "./OrUnavailable.ts"
import { Pepper } from "./Pepper.ts"

const UNBOUNDED = 1_000_000_000

export class SignInLimits extends Context.Service<
  SignInLimits,
  {
    /** One more of `kind` from a network address; IPv6 counts by the /64 that a subscriber has. */
    readonly byAddress: (kind: string, address: string, perMinute: number) => Effect.Effect<void, GatewayError>
    readonly byDestination: (destination: string, perMinute: number) => Effect.Effect<void, GatewayError>
    readonly byUser: (kind: string, userId: string, perMinute: number) => Effect.Effect<void, GatewayError>
    readonly global: (kind: string, perMinute: number) => Effect.Effect<void, GatewayError>
  }
>()("tollgate/gateway/SignInLimits") {
  static readonly layer = Layer.effect(
    SignInLimits,
    Effect.gen(function* () {
      const limits = yield* Limits
      const pepper = yield* Pepper

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

      return {
        byAddress: (kind, address, perMinute) => take(`${kind}:address:${networkOf(address)}`, perMinute),
        byDestination: (destination, perMinute) =>
          Effect.flatMap(pepper.hash("destination", destination), (hash) => take(`destination:${hash}`, perMinute)),
        byUser: (kind, userId, perMinute) => take(`${kind}:user:${userId}`, perMinute),
        global: (kind, perMinute) => take(`${kind}:global`, perMinute)
      }
    })
  )
}

/** An IPv6 address as its first four groups, an IPv4 address as it is, also where it is written inside an IPv6 one. */
export const networkOf = (address: string): string => {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  if (!isIPv6(address)) return address
  const [head = "", tail = ""] = address.split("%", 1).join("").toLowerCase().split("::")
  const front = head === "" ? [] : head.split(":")
  const back = tail === "" ? [] : tail.split(":")
  const zeros = Array.from({ length: Math.max(0, 8 - front.length - back.length) }, () => "0")
  return [...front, ...zeros, ...back]
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ""))
    .join(":")
}
