/**
 * Asks a provider for its models: one free call, which also tells whether it accepts the key. A
 * failure says what was wrong in words for an operator. They hold neither the key nor anything that
 * the provider wrote.
 */
import { Clock, Data, Effect, Redacted } from "effect"
import { lookup } from "node:dns/promises"
import { BlockList, isIP } from "node:net"
import { type ProviderConfig } from "../../domain/Catalog.ts"
import { type HttpExchangeFailure } from "../transport/HttpExchange.ts"
import { Outbound } from "../transport/Outbound.ts"
import { type WholeReply } from "../transport/Transport.ts"
import { type ListedModel, readModels } from "./ListedModel.ts"

export const listingReasons = [
  "key_refused",
  "address_refused",
  "host_unknown",
  "unreachable",
  "timeout",
  "no_model_list",
  "rate_limited",
  "server_error",
  "unreadable"
] as const

export class ListingFault extends Data.TaggedError("ListingFault")<{
  readonly reason: (typeof listingReasons)[number]
  readonly message: string
}> {}

export interface Listing {
  readonly models: ReadonlyArray<ListedModel>
  /** False: the provider has no list of models, or shows it to anyone. */
  readonly isKeyChecked: boolean
  readonly latencyMs: number
}

const LIMIT_MS = 10_000

/** Addresses at which clouds give credentials to their machines. IPv4 in IPv6 counts as IPv4. */
const metadata = new BlockList()
metadata.addSubnet("169.254.0.0", 16, "ipv4")
metadata.addAddress("100.100.100.200", "ipv4")
metadata.addSubnet("fe80::", 10, "ipv6")
metadata.addAddress("fd00:ec2::254", "ipv6")

const isMetadata = (address: string): boolean => metadata.check(address, isIP(address) === 6 ? "ipv6" : "ipv4")

const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, "")

/** Refuses hosts that do not exist, and link-local addresses, which no provider has. */
export const checkAddress = Effect.fnUntraced(function* (baseUrl: string) {
  const host = hostOf(new URL(baseUrl))
  const addresses =
    isIP(host) === 0
      ? yield* Effect.tryPromise({
          try: () => lookup(host, { all: true }),
          catch: () =>
            new ListingFault({ reason: "host_unknown", message: `The host ${host} is unknown. Check the address.` })
        }).pipe(Effect.map((found) => found.map(({ address }) => address)))
      : [host]
  if (addresses.some(isMetadata)) {
    return yield* new ListingFault({
      reason: "address_refused",
      message: `The gateway does not call ${host}: it is a link-local address, which can give away a machine's credentials.`
    })
  }
})

/** The provider's models. `isListNeeded`: an address without a list is a failure. */
export const listModels = Effect.fn("listModels")(function* (
  config: ProviderConfig,
  isListNeeded: boolean
): Effect.fn.Return<Listing, ListingFault, Outbound> {
  const { call } = yield* Outbound
  const startMs = yield* Clock.currentTimeMillis
  yield* checkAddress(config.baseUrl)
  const host = new URL(config.baseUrl).host
  const ask = (path: string) =>
    call({ method: "GET", url: urlOf(config, path), headers: headersOf(config), body: null, timeoutMs: LIMIT_MS }).pipe(
      Effect.timeoutOrElse({
        duration: LIMIT_MS,
        orElse: () => Effect.fail(new ListingFault({ reason: "timeout", message: lateWords(host) }))
      }),
      Effect.mapError((error) => (error instanceof ListingFault ? error : faultOf(error, host)))
    )
  const isPublic = hostOf(new URL(config.baseUrl)) === "openrouter.ai"
  if (isPublic) yield* refusalOf(yield* ask("/key"), config, host)
  const reply = yield* ask("/models")
  const latencyMs = (yield* Clock.currentTimeMillis) - startMs
  if (!isListNeeded && (reply.status === 404 || reply.status === 405)) {
    return { models: [], isKeyChecked: isPublic, latencyMs }
  }
  yield* refusalOf(reply, config, host)
  const models = readModels(reply.text)
  if (models === null) {
    return yield* new ListingFault({
      reason: "unreadable",
      message: `${host} answers, but not with a list of models in the form of the dialect ${config.dialect}. Check the base URL and the dialect.`
    })
  }
  return { models, isKeyChecked: config.apiKey !== null, latencyMs }
})

const urlOf = ({ baseUrl, dialect, query }: ProviderConfig, path: string): URL => {
  const url = new URL(`${baseUrl}${path}`)
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
  if (dialect === "anthropic") url.searchParams.set("limit", "1000")
  if (dialect === "gemini") url.searchParams.set("pageSize", "1000")
  return url
}

/** Where a dialect has its key, unless the settings name a header. */
const keyHeaders: Partial<Record<ProviderConfig["dialect"], string>> = {
  anthropic: "x-api-key",
  gemini: "x-goog-api-key"
}

const headersOf = ({ apiKey, auth, dialect, headers }: ProviderConfig): Readonly<Record<string, string>> => {
  const key = apiKey === null ? "" : Redacted.value(apiKey)
  const named = auth.type === "none" ? null : auth.type === "header" ? auth.name : keyHeaders[dialect]
  return {
    accept: "application/json",
    ...(dialect === "anthropic" ? { "anthropic-version": "2023-06-01" } : {}),
    ...headers,
    ...(named === null ? {} : named === undefined ? { authorization: `Bearer ${key}` } : { [named]: key })
  }
}

const lateWords = (host: string): string =>
  `${host} did not answer within ${LIMIT_MS / 1_000} seconds. Check the address, and whether this machine may reach it.`

const faultOf = (failure: HttpExchangeFailure, host: string): ListingFault => {
  const fault = (reason: ListingFault["reason"], message: string) => new ListingFault({ reason, message })
  switch (failure._tag) {
    case "TimedOut":
      return fault("timeout", lateWords(host))
    case "Unreachable": {
      const code = failure.detail
      if (code === "ENOTFOUND" || code === "EAI_AGAIN")
        return fault("host_unknown", `The host of ${host} is unknown. Check the address.`)
      const why =
        code === "ECONNREFUSED"
          ? "refuses connections: no server listens there"
          : /CERT|TLS|SSL|SELF_SIGNED/.test(code)
            ? `has no certificate that this machine trusts (${code})`
            : `cannot be reached (${code})`
      return fault("unreachable", `${host} ${why}. Check the address.`)
    }
    case "TooLarge":
      return fault("unreadable", `${host} answers with more than a list of models. Check the base URL.`)
    default:
      return fault("unreadable", `${host} answers, but not in HTTP that can be read. Check the base URL.`)
  }
}

/** Gemini answers a wrong key with 400. */
const isKeyRefused = ({ status, text }: WholeReply): boolean =>
  status === 401 || status === 403 || (status === 400 && /API_KEY_INVALID|API key not valid/.test(text))

const refusalOf = (reply: WholeReply, { apiKey, baseUrl, slug }: ProviderConfig, host: string) => {
  const { status } = reply
  const fault = (reason: ListingFault["reason"], message: string) => Effect.fail(new ListingFault({ reason, message }))
  if (status >= 200 && status < 300) return Effect.void
  if (isKeyRefused(reply)) {
    return fault(
      "key_refused",
      apiKey === null
        ? `${host} wants a key (status ${status}).`
        : `${host} does not accept the key (status ${status}). Check that it is whole, still valid, and a key of ${slug}.`
    )
  }
  if (status === 404 || status === 405) {
    const hint = baseUrl.endsWith("/v1") ? "" : " Should the base URL end in /v1?"
    return fault(
      "no_model_list",
      `${host} answers, but has no list of models at this address (status ${status}).${hint}`
    )
  }
  if (status === 429) return fault("rate_limited", `${host} limits our calls (status 429). Try again in a minute.`)
  if (status >= 500) return fault("server_error", `${host} is in trouble (status ${status}). Try again later.`)
  return fault("unreadable", `${host} answers with status ${status}. Check the base URL and the dialect.`)
}
