/**
 * The network address of whoever sent a request: the peer's, or, where that is a proxy that the settings trust, the last address before
 * the trusted ones that it tells in `X-Forwarded-For`. What is no address ends the walk, and the nearest trusted proxy counts.
 */
import { Option, Result } from "effect"
import { type HttpServerRequest } from "effect/http"
import { contains, fromString, type IpNetwork } from "effect/net/IpNetwork"
import { type IpAddress, ipFromString } from "effect/net/NetAddress"
import { isIPv4 } from "node:net"

/** An IPv4 address inside an IPv6 one, as a socket that takes both shows it, as itself. */
const plain = (address: string): string => {
  const inner = address.replace(/^::ffff:/i, "")
  return isIPv4(inner) ? inner : address.split("%", 1).join("")
}

const parse = (address: string): Option.Option<IpAddress> => Result.getSuccess(ipFromString(plain(address)))

/** Whether an address is of a proxy of ours. `trustedProxies`: networks such as `10.0.0.0/8`. */
const trusting = (trustedProxies: ReadonlyArray<string>): ((address: string) => boolean) => {
  const networks: ReadonlyArray<IpNetwork> = trustedProxies.flatMap((network) =>
    Option.toArray(Result.getSuccess(fromString(network)))
  )
  return (address) =>
    Option.match(parse(address), {
      onNone: () => false,
      onSome: (ip) => networks.some((network) => contains(network, ip))
    })
}

/** `trustedProxies`: networks such as `10.0.0.0/8`. */
export const clientAddress = (
  trustedProxies: ReadonlyArray<string>
): ((request: HttpServerRequest.HttpServerRequest) => string) => {
  const isTrusted = trusting(trustedProxies)
  return ({ headers, remoteAddress }) => {
    let nearest = plain(Option.getOrElse(remoteAddress, () => "unknown"))
    if (trustedProxies.length === 0) return nearest
    const forwarded = (headers["x-forwarded-for"] ?? "").split(",").map((one) => one.trim())
    for (const address of forwarded.toReversed()) {
      if (!isTrusted(nearest) || Option.isNone(parse(address))) break
      nearest = plain(address)
    }
    return nearest
  }
}

/** Whether a trusted proxy says that its client came by https. */
export const cameByHttps = (
  trustedProxies: ReadonlyArray<string>
): ((request: HttpServerRequest.HttpServerRequest) => boolean) => {
  const isTrusted = trusting(trustedProxies)
  return ({ headers, remoteAddress }) =>
    headers["x-forwarded-proto"]?.split(",").at(-1)?.trim().toLowerCase() === "https" &&
    isTrusted(plain(Option.getOrElse(remoteAddress, () => "unknown")))
}

/** Whether a request was made on this machine, for this machine: by a loopback peer, under a loopback name, through no proxy. */
export const isLocal = ({ headers, remoteAddress }: HttpServerRequest.HttpServerRequest): boolean => {
  const peer = plain(Option.getOrElse(remoteAddress, () => "unknown"))
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
