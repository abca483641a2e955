/**
 * What a provider means when it does not answer: a status, headers and an error object, or an error object inside a
 * 200, as a reason. The status decides unless the error's own code knows better. The provider's words go on only where
 * the request itself is at fault; a body that cannot be read changes nothing but the message.
 */
import { type IncomingHttpHeaders } from "node:http"
import { headerValues } from "../transport/Headers.ts"
import { CredentialsRefused, type ProviderReason, Rejected, ServerFault, Throttled } from "../Provider.ts"
import { parseJson } from "../../domain/Json.ts"
import { isJsonRecord, stringOf, type JsonRecord, jsonRecordsOf } from "./Json.ts"

/** In UTF-16 code units. */
const MESSAGE_LIMIT = 500
/** Whoever asks for more patience than a day gets a day. */
const LONGEST_WAIT_MS = 86_400_000
/** How much of an error's words is looked at, in UTF-16 code units. */
const READ_LIMIT = 4_096
const rejections = new Set([400, 404, 413, 415, 422])
/** Codes and types by which an error object names its kind, and the status each stands for. */
const kinds: Readonly<Record<string, number>> = {
  authentication_error: 401,
  invalid_api_key: 401,
  invalid_authentication: 401,
  permission_error: 403,
  permission_denied: 403,
  insufficient_quota: 402,
  billing_not_active: 402,
  billing_error: 402,
  rate_limit_exceeded: 429,
  rate_limit_error: 429,
  ThrottlingException: 429,
  ServiceQuotaExceededException: 429,
  overloaded_error: 503,
  invalid_request_error: 400,
  context_length_exceeded: 400,
  content_filter: 400,
  content_policy_violation: 400,
  model_not_found: 404,
  not_found_error: 404,
  request_too_large: 413,
  timeout_error: 504
}
/** Finish reasons by which OpenRouter, DeepSeek, GLM and vLLM say that the provider failed. */
const failures = new Set<unknown>(["error", "insufficient_system_resource", "network_error", "abort"])
/** What an error object says of itself that counts more than the reply's status. */
const overriding = new Set<number | null>([401, 402, 429])
const contextMessages =
  /maximum (context|prompt) length|context[ _](length|window|limit|size)|prompt is too long|input is too long|too many (input )?tokens|reduce the length of|exceeds the maximum (number of |input )?token/i

/** An error object as vendors write it, its members read leniently. */
interface ErrorFields {
  readonly message: string | null
  readonly param: string | null
  readonly code: string | null
  /** The status that the object itself names, by number or by kind. */
  readonly status: number | null
  /** The member of the request that is at fault, though the status blames our account. */
  readonly own: "messages" | "max_tokens" | null
}

/** The reason of a reply whose status is not 2xx. `nowMs` is what a `Retry-After` date is measured against. */
export const reasonOfStatus = (
  status: number,
  headers: IncomingHttpHeaders,
  text: string,
  nowMs: number
): ProviderReason => {
  const body = parseJson(text)
  if (status === 404 && body === undefined) return new ServerFault({ status, retryAfterMs: null })
  const fields = fieldsOf(body === undefined ? plainText(text) : body)
  return reasonOf(overriding.has(fields.status) ? fields.status : status, status, fields, retryAfterOf(headers, nowMs))
}

/** The reason of an error object inside a 200 or a stream event, or inside a choice of it; null when there is none in `body`. */
export const errorInBody = (body: JsonRecord): ProviderReason | null => {
  if (isError(body["error"]) || body["object"] === "error") return reasonInside(body)
  const choices = body["choices"]
  if (!Array.isArray(choices)) return null
  for (const choice of choices) {
    if (!isJsonRecord(choice)) continue
    if (isError(choice["error"])) return reasonInside(choice)
    if (failures.has(choice["finish_reason"])) return new ServerFault({ status: 500, retryAfterMs: null })
  }
  return null
}

const isError = (error: unknown): boolean => isJsonRecord(error) || (typeof error === "string" && error !== "")

const reasonInside = (body: JsonRecord): ProviderReason => {
  const fields = fieldsOf(body)
  const status = fields.status ?? 500
  return reasonOf(status, status, fields, null)
}

/** What may leave the dialect: the provider's words without our key, should it repeat it, and cut to 500 characters. */
export const presentable = (reason: ProviderReason, key: string | null): ProviderReason => {
  if (reason._tag !== "Rejected") return reason
  const message = key === null || key === "" ? reason.message : reason.message.replaceAll(key, "[key]")
  const { code, contextLength, param, status } = reason
  return new Rejected({ status, message: message.slice(0, MESSAGE_LIMIT), param, code, contextLength })
}

const reasonOf = (
  meant: number | null,
  status: number,
  fields: ErrorFields,
  retryAfterMs: number | null
): ProviderReason => {
  const own = meant === 402 || meant === 403 ? fields.own : null
  if (own !== null) {
    const message = fields.message ?? `the provider answered ${status}`
    return new Rejected({ status, message, param: own, code: fields.code, contextLength: false })
  }
  if (meant === 401 || meant === 402 || meant === 403) return new CredentialsRefused({ status })
  if (meant === 429 || (meant === 503 && retryAfterMs !== null)) return new Throttled({ status, retryAfterMs })
  if (meant === null || !rejections.has(meant)) return new ServerFault({ status, retryAfterMs })
  const message = fields.message ?? `the provider answered ${status}`
  const contextLength = fields.code === "context_length_exceeded" || contextMessages.test(message)
  return new Rejected({ status, message, param: fields.param, code: fields.code, contextLength })
}

/** An error object in any of the forms that vendors give it: see `wordsOf`. */
const fieldsOf = (body: unknown): ErrorFields => {
  const [first] = Array.isArray(body) ? jsonRecordsOf(body) : [body]
  if (!isJsonRecord(first)) return { message: wordsOf(body), param: null, code: null, status: null, own: null }
  const [listed] = jsonRecordsOf(first["errors"])
  const error = isJsonRecord(first["error"]) ? first["error"] : (listed ?? first)
  const code = typeof error["code"] === "number" ? String(error["code"]) : stringOf(error["code"])
  // AWS names the kind behind its namespace.
  const type = stringOf(error["type"]) ?? stringOf(error["__type"])?.split("#").at(-1) ?? null
  const metadata = isJsonRecord(error["metadata"]) ? error["metadata"] : {}
  const said = wordsOf(error) ?? wordsOf(first)
  const raw = wordsOf(metadata["raw"])
  const message = said === null || raw === null ? (said ?? raw) : `${said}: ${raw}`
  return {
    message,
    param: stringOf(error["param"]),
    code: code ?? type,
    status: numericStatus(code) ?? kinds[code ?? ""] ?? kinds[type ?? ""] ?? null,
    own: ownFault(metadata, message ?? "")
  }
}

/** Where vendors have their words: `{error: {message}}`, `{error: "…"}`, `{errors: […]}`, FastAPI's `{detail: [{msg}]}`, Mistral's mixture of these. */
const wordMembers = ["message", "Message", "detail", "msg", "error", "errors"]

/** The first text of all that; null where there is none within four levels. */
const wordsOf = (value: unknown, levels = 4): string | null => {
  if (typeof value === "string") return worded(value)
  if (levels === 0) return null
  if (Array.isArray(value)) return wordsOf(value[0], levels - 1)
  if (!isJsonRecord(value)) return null
  for (const member of wordMembers) {
    const words = wordsOf(value[member], levels - 1)
    if (words !== null) return words
  }
  return null
}

/** Its beginning in one line. */
const worded = (text: string): string | null =>
  text
    .slice(0, READ_LIMIT)
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ")
    .trim() || null

/** A body that is no JSON and no page. */
const plainText = (text: string): string => (text.trimStart().startsWith("<") ? "" : text)

/**
 * Which member of the request a 402 or 403 is about: a text that was flagged, or an output limit that costs more than our credit is
 * worth (OpenRouter has both). Null: it is about us.
 */
const ownFault = (metadata: JsonRecord, message: string): "messages" | "max_tokens" | null => {
  if (Array.isArray(metadata["reasons"]) || "flagged_input" in metadata) return "messages"
  return /max_(?:completion_|output_)?tokens/i.test(message) ? "max_tokens" : null
}

const numericStatus = (code: string | null): number | null => {
  const status = code === null ? Number.NaN : Number(code)
  return Number.isInteger(status) && status >= 400 && status <= 599 ? status : null
}

/**
 * `retry-after-ms`, or `retry-after` in seconds or as an HTTP date; of several that make sense the longest, and a day at most. Null
 * when there is none.
 */
export const retryAfterOf = (headers: IncomingHttpHeaders, nowMs: number): number | null => {
  const longest = (name: string, waitOf: (value: string) => number | null): number | null => {
    const waits = headerValues(headers, name).flatMap((value) => waitOf(value.trim()) ?? [])
    return waits.length === 0 ? null : Math.min(LONGEST_WAIT_MS, Math.ceil(Math.max(...waits)))
  }
  return (
    longest("retry-after-ms", decimalOf) ??
    longest("retry-after", (value) => {
      const seconds = decimalOf(value)
      if (seconds !== null) return seconds * 1000
      const atMs = httpDate.test(value) ? Date.parse(value) : Number.NaN
      return Number.isNaN(atMs) ? null : Math.max(0, atMs - nowMs)
    })
  )
}

/** Dates begin with the day of the week; `Date.parse` makes a date of `-5` too. */
const httpDate = /^[A-Za-z]{3,9},? /

/** Digits with or without a fraction: no sign, no exponent. */
const decimalOf = (value: string): number | null => (/^\d+(?:\.\d+)?$/.test(value) ? Number(value) : null)
