/**
 * One request and its answer: sends only the credential that the endpoint needs, encodes and
 * decodes JSON, and turns every undeclared outcome into a `TollgateError`. It retries only if asked
 * to, and only requests that were rejected as retryable.
 */
import { Duration, Effect, Option, Redacted, Schedule, Schema } from "effect"
import { HttpClient, HttpClientError, HttpClientRequest, type HttpClientResponse } from "effect/http"
import { ErrorBody, ValidationError } from "../api/Failure.ts"
import { MessagesErrorBody } from "../api/MessagesErrors.ts"
import { type Endpoint } from "./Endpoints.ts"
import {
  CutOff,
  errorOfMessages,
  Refused,
  TollgateError,
  Unexpected,
  Unreachable,
  Unsendable,
  withoutRequest
} from "./TollgateError.ts"

type Secret = string | Redacted.Redacted

export interface ConnectionOptions {
  /**
   * The gateway's address: `http://127.0.0.1:8787`. A path before `/v1` is kept; `/v1` may be part
   * of it.
   */
  readonly url: string | URL
  /** For chat, embeddings, models, the key's own generations, privacy and route previews. */
  readonly apiKey?: Secret | undefined
  /** For keys and administration. */
  readonly adminKey?: Secret | undefined
  /**
   * A user's access token. It also serves for administration if the user is an admin and there is
   * no admin key.
   */
  readonly accessToken?: Secret | undefined
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /**
   * Number of retries of a request that was rejected as retryable. The delay is the one that the
   * gateway gives, otherwise half a second, doubled each time. Default: 0.
   */
  readonly retries?: number | undefined
}

/** Status and headers of an answer. */
export interface Head {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
}

export interface CallOptions {
  /** Such as `idempotency-key` or `cache-control`. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Called with the status and headers before the body is read, also for errors. */
  readonly onHead?: ((head: Head) => void) | undefined
}

/** The parts of a request, typed by `RequestOf`. */
export interface Parts {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly payload?: unknown
}

export type Send = (
  endpoint: Endpoint,
  parts: Parts,
  options: CallOptions
) => Effect.Effect<HttpClientResponse.HttpClientResponse, TollgateError, HttpClient.HttpClient>

/**
 * Header values that `fetch` accepts. For others its error would contain the value, credentials
 * included. It trims the ends itself.
 */
const sendable = /^[\t\n\r ]*[\t\x20-\x7e\x80-\xff]*[\t\n\r ]*$/

const FIRST_PAUSE = Duration.millis(500)

/** The address without trailing slashes, and without the `/v1` that base URLs of SDKs end with. */
export const gatewayAddress = (url: string): string => url.replace(/\/+$/, "").replace(/(?:\/v1)+$/, "")

/**
 * Makes the function that sends requests. It succeeds with a declared success status; the body is
 * not read yet.
 */
export const makeSend = (connection: ConnectionOptions): Send => {
  const base = gatewayAddress(String(connection.url))
  const retries = connection.retries ?? 0
  const schedule = Schedule.exponential(FIRST_PAUSE).pipe(
    Schedule.setInputType<TollgateError>(),
    Schedule.modifyDelay(({ duration, input }) =>
      Effect.succeed(input.retryAfterSeconds === null ? duration : Duration.seconds(input.retryAfterSeconds))
    )
  )

  const once = Effect.fnUntraced(function* (endpoint: Endpoint, parts: Parts, options: CallOptions) {
    const headers = { ...connection.headers, ...credentials(endpoint, connection), ...options.headers }
    const header = Object.keys(headers).find((name) => !sendable.test(headers[name] ?? ""))
    if (header !== undefined) return yield* new TollgateError({ reason: new Unsendable({ header }) })
    const request = HttpClientRequest.make(endpoint.method)(`${base}${pathOf(endpoint.path, parts)}`).pipe(
      HttpClientRequest.acceptJson,
      HttpClientRequest.setHeaders(headers),
      parts.payload === undefined
        ? (request) => request
        : HttpClientRequest.bodyText(JSON.stringify(parts.payload), "application/json")
    )
    const response = yield* Effect.mapError(
      HttpClient.execute(request),
      (cause) => new TollgateError({ reason: new Unreachable({ url: base, cause: withoutRequest(cause) }) })
    )
    options.onHead?.({ status: response.status, headers: { ...response.headers } })
    return endpoint.successes.has(response.status) ? response : yield* refusal(response)
  })

  return (endpoint, parts, options) =>
    Effect.retry(once(endpoint, parts, options), {
      schedule,
      times: retries,
      while: ({ isRetryable, reason }) => reason._tag === "Refused" && isRetryable
    })
}

const cutOff = (cause: unknown) => new TollgateError({ reason: new CutOff({ cause: withoutRequest(cause) }) })
const unexpected = ({ status }: HttpClientResponse.HttpClientResponse, cause: unknown) =>
  new TollgateError({ reason: new Unexpected({ status, cause: withoutRequest(cause) }) })

/** Reads the whole answer. */
export const read = (endpoint: Endpoint, response: HttpClientResponse.HttpClientResponse) =>
  Effect.mapError(endpoint.decode(response), (cause) => {
    const isTransport = HttpClientError.isHttpClientError(cause) && cause.reason._tag !== "DecodeError"
    return isTransport ? cutOff(cause) : unexpected(response, cause)
  })

const Envelope = Schema.fromJsonString(
  Schema.Struct({ error: ErrorBody, detail: Schema.optionalKey(Schema.Array(ValidationError)) })
)

const MessagesEnvelope = Schema.fromJsonString(MessagesErrorBody)

/** An error of the Messages API in the form of all others. */
const fromMessages = (
  body: MessagesErrorBody,
  { headers }: HttpClientResponse.HttpClientResponse
): (typeof Envelope)["Type"] => {
  const retryAfter = Number(headers["retry-after"] ?? Number.NaN)
  return {
    error: {
      ...errorOfMessages(body),
      retryable: headers["x-should-retry"] === "true",
      retry_after: Number.isInteger(retryAfter) ? retryAfter : null
    }
  }
}

/** Fails with the gateway's error, or with `Unexpected` if the body is not the gateway's. */
const refusal = Effect.fnUntraced(function* (response: HttpClientResponse.HttpClientResponse) {
  const { status } = response
  const text = yield* Effect.mapError(response.text, cutOff)
  const envelope = Option.orElse(Schema.decodeUnknownOption(Envelope)(text), () =>
    Option.map(Schema.decodeUnknownOption(MessagesEnvelope)(text), (body) => fromMessages(body, response))
  )
  if (Option.isNone(envelope)) {
    return yield* unexpected(response, new Error(text === "" ? "an empty body" : text.slice(0, 200)))
  }
  const { detail = [], error } = envelope.value
  return yield* new TollgateError({ reason: new Refused({ status, error, faults: detail }) })
})

const reveal = (secret: Secret): string => (Redacted.isRedacted(secret) ? Redacted.value(secret) : secret)
const bearer = (secret: Secret | undefined) =>
  secret === undefined ? {} : { authorization: `Bearer ${reveal(secret)}` }

const credentials = (
  { credential }: Endpoint,
  { accessToken, adminKey, apiKey }: ConnectionOptions
): Readonly<Record<string, string>> => {
  switch (credential) {
    case "apiKey":
      return bearer(apiKey)
    case "admin":
      return adminKey === undefined ? bearer(accessToken) : { "x-admin-key": reveal(adminKey) }
    case "session":
      return bearer(accessToken)
    case null:
      return {}
  }
}

const pathOf = (path: string, { params = {}, query = {} }: Parts): string => {
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ""))
  const members = Object.entries(query).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value])
      .filter((one) => one !== undefined)
      .map((one) => `${encodeURIComponent(name)}=${encodeURIComponent(String(one))}`)
  )
  return members.length === 0 ? filled : `${filled}?${members.join("&")}`
}
