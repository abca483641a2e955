/**
 * Bedrock endpoints. Depending on the provider's key, each call is signed with Signature Version 4
 * or carries a bearer token (a Bedrock API key). A signature covers the address, the time and the
 * body, so each call has its own. The status is replaced if the error's name is more precise.
 */
import { AwsV4Signer } from "aws4fetch"
import { Clock, Effect, Redacted } from "effect"
import { type IncomingHttpHeaders } from "node:http"
import { type ProviderConfig } from "../../domain/Catalog.ts"
import { awsKeys, bedrockRegion } from "../presets/BedrockRegion.ts"
import { headerOf } from "../transport/Headers.ts"
import { type CallBody, type CallHeaders, type Endpoint, type Transport } from "../transport/Transport.ts"

/** Used if the region is not configured. */
const FALLBACK_REGION = "us-east-1"

/** Returns a function that makes the endpoint of a path below the provider's base URL. */
export const bedrockEndpoints = (
  config: ProviderConfig,
  transport: Transport["Service"]
): ((path: string) => Endpoint) => {
  const keys = config.apiKey === null || config.auth.type !== "bearer" ? null : awsKeys(Redacted.value(config.apiKey))
  const { region: _inQuery, ...query } = config.query
  const { region: _inHeaders, ...headers } = config.headers
  const sent: ProviderConfig = { ...config, query, headers, ...(keys === null ? {} : { auth: { type: "none" } }) }
  // aws4fetch caches the signing key of the day here.
  const cache = new Map<string, ArrayBuffer>()
  const region = bedrockRegion(config) ?? FALLBACK_REGION

  const signerOf = (path: string): ((body: CallBody) => Effect.Effect<CallHeaders>) => {
    if (keys === null) return () => Effect.succeed({})
    const url = new URL(sent.baseUrl + path)
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    return Effect.fnUntraced(function* (body: CallBody) {
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
    const headersFor = signerOf(path)
    return {
      post: (body, limitMs) =>
        Effect.flatMap(headersFor(body), (headers) => endpoint.post(body, limitMs, headers)).pipe(
          Effect.map((reply) => ({ ...reply, status: statusOf(reply) }))
        ),
      open: (body, firstTokenMs) =>
        Effect.flatMap(headersFor(body), (headers) =>
          endpoint.open(body, firstTokenMs, { ...headers, accept: "application/vnd.amazon.eventstream" })
        ).pipe(Effect.map((reply) => ({ ...reply, status: statusOf(reply) })))
    }
  }
}

/** Errors whose status (400) would wrongly blame the request. */
const statusByError: Readonly<Record<string, number>> = {
  ServiceQuotaExceededException: 429,
  ThrottlingException: 429,
  IncompleteSignatureException: 403,
  MissingAuthenticationTokenException: 403,
  UnrecognizedClientException: 403,
  ExpiredTokenException: 403
}

/**
 * `x-amzn-errortype` is a name, optionally followed by an address: `ValidationException:http://…`.
 */
const statusOf = ({ headers, status }: { readonly headers: IncomingHttpHeaders; readonly status: number }): number => {
  const [name = ""] = (headerOf(headers, "x-amzn-errortype") ?? "").split(":")
  return status < 300 ? status : (statusByError[name] ?? status)
}
