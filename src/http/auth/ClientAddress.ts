/**
 * The network address of a request's client: the peer's address, or the address that trusted proxies report for it. Of the addresses in
 * `X-Forwarded-For` the last one counts that is not a trusted proxy's. A list with an entry that is no address does not count at all.
 */
import { identity, Option, Result } from "effect"
import { HttpMiddleware, type HttpServerRequest } from "effect/http"
import { contains, fromString } from "effect/net/IpNetwork"
import { type IpAddress, ipFromString } from "effect/net/NetAddress"
import { isIPv4 } from "node:net"

/** The predicate for addresses within `trustedProxies`: networks such as `10.0.0.0/8`. */
const isWithin = (trustedProxies: ReadonlyArray<string>) => {
  const networks = trustedProxies.flatMap((network) => Option.toArray(Result.getSuccess(fromString(network))))
  return (ip: IpAddress): boolean => networks.some((network) => contains(network, ip))
}

/** Middleware that gives a request the client's address and host as a trusted proxy reports them. `peerAddress` stays the proxy's. */
export const forwarded = (
  trustedProxies: ReadonlyArray<string>
): ReturnType<typeof HttpMiddleware.xForwardedHeaders> =>
  trustedProxies.length === 0
    ? identity
    : HttpMiddleware.xForwardedHeaders({ trustedProxies: isWithin(trustedProxies) })

/** An IPv4 address inside an IPv6 one, as a socket for both shows it, is written as IPv4. Zones are left out. */
const plain = (address: Option.Option<string>): string => {
  const text = Option.getOrElse(address, () => "unknown")
  const inner = text.replace(/^::ffff:/i, "")
  return isIPv4(inner) ? inner : text.split("%", 1).join("")
}

export const clientAddress = ({ remoteAddress }: HttpServerRequest.HttpServerRequest): string => plain(remoteAddress)

/**
 * Whether a trusted proxy says that its client came by https. Unlike the middleware this takes one `X-Forwarded-Proto` beside any number
 * of forwarded addresses, because most proxies send it so.
 */
export const cameByHttps = (
  trustedProxies: ReadonlyArray<string>
): ((request: HttpServerRequest.HttpServerRequest) => boolean) => {
  const isTrusted = isWithin(trustedProxies)
  return ({ headers, peerAddress }) =>
    headers["x-forwarded-proto"]?.split(",").at(-1)?.trim().toLowerCase() === "https" &&
    Option.exists(Result.getSuccess(ipFromString(plain(peerAddress))), isTrusted)
}

/** Whether a request was made on this machine, for this machine: by a loopback peer, under a loopback name, through no proxy. */
export const isLocal = ({ headers, peerAddress }: HttpServerRequest.HttpServerRequest): boolean => {
  const peer = plain(peerAddress)
  const host = (headers["host"] ?? "").replace(/:\d+$/, "").toLowerCase()
  const proxied = marksOfProxies.some((name) => headers[name] !== undefined)
  return isLoopback(peer) && (host === "localhost" || isLoopback(host.replace(/^\[|\]$/g, ""))) && !proxied
}

/** What proxies add to a request, the ones or the others. */
const marksOfProxies = [
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
