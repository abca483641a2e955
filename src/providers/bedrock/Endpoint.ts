/**
 * Endpoints of Bedrock: each call is signed with Signature Version 4, or carries a bearer token (a Bedrock API key),
 * whichever the provider's key is. A signature covers the address, the time and the body, so each call gets its own. What
 * an error's name says better than its status becomes the status.
 */
import { AwsV4Signer } from "aws4fetch"
import { Clock, Effect, Redacted } from "effect"
import { type IncomingHttpHeaders } from "node:http"
import { type ProviderConfig } from "../../domain/Catalog.ts"
import { awsKeys, bedrockRegion } from "../presets/BedrockRegion.ts"
import { headerOf } from "../transport/Headers.ts"
import { type CallHeaders, type Endpoint, type Transport } from "../transport/Transport.ts"

/** Where a region is needed and nothing names one. */
const FALLBACK_REGION = "us-east-1"

/** Makes the endpoint of a path below the provider's address. */
export const bedrockEndpoints = (
  config: ProviderConfig,
  transport: Transport["Service"]
): ((path: string) => Endpoint) => {
  const keys = config.apiKey === null || config.auth.type !== "bearer" ? null : awsKeys(Redacted.value(config.apiKey))
  const { region: _inQuery, ...query } = config.query
  const { region: _inHeaders, ...headers } = config.headers
  const sent: ProviderConfig = { ...config, query, headers, ...(keys === null ? {} : { auth: { type: "none" } }) }
  // Kept between calls: the key that a day's signatures are made with.
  const cache = new Map<string, ArrayBuffer>()
  const region = bedrockRegion(config) ?? FALLBACK_REGION

  const signed = (path: string): ((body: string) => Effect.Effect<CallHeaders>) => {
    if (keys === null) return () => Effect.succeed({})
    const url = new URL(sent.baseUrl + path)
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    return Effect.fnUntraced(function* (body: string) {
      const nowMs = yield* Clock.currentTimeMillis
      const datetime = new Date(nowMs).toISOString().replaceAll(/[:-]|\.\d{3}/g, "")
      const signer = new AwsV4Signer({
        ...keys,
        method: "POST",
        url: url.href,
        body,
        service: "bedrock",
        region,
        datetime,
        cache
      })
      const { headers } = yield* Effect.promise(() => signer.sign())
      return Object.fromEntries(headers)
    })
  }

  return (path) => {
    const endpoint = transport.endpoint(sent, path)
    const headersFor = signed(path)
    return {
      post: (body, limit) =>
        Effect.flatMap(headersFor(body), (headers) => endpoint.post(body, limit, headers)).pipe(
          Effect.map((reply) => ({ ...reply, status: statusOf(reply) }))
        ),
      open: (body) =>
        Effect.flatMap(headersFor(body), (headers) =>
          endpoint.open(body, { ...headers, accept: "application/vnd.amazon.eventstream" })
        ).pipe(Effect.map((reply) => ({ ...reply, status: statusOf(reply) })))
    }
  }
}

/** Errors whose status (400) would blame the request for what is not its fault. */
const meant: Readonly<Record<string, number>> = {
  ServiceQuotaExceededException: 429,
  ThrottlingException: 429,
  IncompleteSignatureException: 403,
  MissingAuthenticationTokenException: 403,
  UnrecognizedClientException: 403,
  ExpiredTokenException: 403
}

/** `x-amzn-errortype` is a name that an address may follow: `ValidationException:http://…`. */
const statusOf = ({ headers, status }: { readonly headers: IncomingHttpHeaders; readonly status: number }): number => {
  const [name = ""] = (headerOf(headers, "x-amzn-errortype") ?? "").split(":")
  return status < 300 ? status : (meant[name] ?? status)
}
