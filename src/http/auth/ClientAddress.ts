/**
 * The network address of a client: the peer's address, or the address that trusted proxies report.
 * In `X-Forwarded-For` the last address that is not a trusted proxy's counts. A list with an
 * invalid entry is ignored.
 */
import { identity, Option, Result } from "effect"
import { HttpMiddleware, type HttpServerRequest } from "effect/http"
import { contains, fromString } from "effect/net/IpNetwork"
import { type IpAddress, ipFromString } from "effect/net/NetAddress"
import { isIPv4 } from "node:net"

/**
 * Makes a predicate for addresses within `trustedProxies`, which are networks such as `10.0.0.0/8`.
 */
const isWithin = (trustedProxies: ReadonlyArray<string>) => {
  const networks = trustedProxies.flatMap((network) => Option.toArray(Result.getSuccess(fromString(network))))
  return (ip: IpAddress): boolean => networks.some((network) => contains(network, ip))
}

/**
 * Middleware that sets the client's address and host of a request to those that a trusted proxy
 * reports. `peerAddress` stays the proxy's.
 */
export const forwarded = (
  trustedProxies: ReadonlyArray<string>
): ReturnType<typeof HttpMiddleware.xForwardedHeaders> =>
  trustedProxies.length === 0
    ? identity
    : HttpMiddleware.xForwardedHeaders({ trustedProxies: isWithin(trustedProxies) })

/**
 * Writes an IPv4 address embedded in IPv6, as dual-stack sockets report it, as IPv4. Removes zones.
 */
const plain = (address: Option.Option<string>): string => {
  const text = Option.getOrElse(address, () => "unknown")
  const inner = text.replace(/^::ffff:/i, "")
  return isIPv4(inner) ? inner : text.split("%", 1).join("")
}

export const clientAddress = ({ remoteAddress }: HttpServerRequest.HttpServerRequest): string => plain(remoteAddress)

/**
 * Whether a trusted proxy reports that its client used https. Unlike the middleware it accepts a
 * single `X-Forwarded-Proto` with any number of forwarded addresses, because most proxies send
 * that.
 */
export const cameByHttps = (
  trustedProxies: ReadonlyArray<string>
): ((request: HttpServerRequest.HttpServerRequest) => boolean) => {
  const isTrusted = isWithin(trustedProxies)
  return ({ headers, peerAddress }) =>
    headers["x-forwarded-proto"]?.split(",").at(-1)?.trim().toLowerCase() === "https" &&
    Option.exists(Result.getSuccess(ipFromString(plain(peerAddress))), isTrusted)
}

/**
 * Whether a request was made on this machine for this machine: from a loopback peer, under a
 * loopback name, without a proxy.
 */
export const isLocal = ({ headers, peerAddress }: HttpServerRequest.HttpServerRequest): boolean => {
  const peer = plain(peerAddress)
  const host = (headers["host"] ?? "").replace(/:\d+$/, "").toLowerCase()
  const proxied = proxyHeaders.some((name) => headers[name] !== undefined)
  return isLoopback(peer) && (host === "localhost" || isLoopback(host.replace(/^\[|\]$/g, ""))) && !proxied
}

/** Headers that proxies add to a request. */
const proxyHeaders = [
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "x-real-ip",
  "forwarded",
  "via",
  "cf-connecting-ip",
  "true-client-ip"
]

const isLoopback = (address: string): boolean => address === "::1" || (isIPv4(address) && address.startsWith("127."))
