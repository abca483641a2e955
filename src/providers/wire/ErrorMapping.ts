/**
 * Maps provider errors to reasons: a status with headers and an error object, or an error object
 * inside a 200. The status decides, unless the error's code is more precise. The provider's message
 * is passed on only if the request is at fault. An unreadable body changes only the message.
 */
import { type IncomingHttpHeaders } from "node:http"
import { headerValues } from "../transport/Headers.ts"
import { CredentialsRefused, type ProviderReason, Rejected, ServerFault, Throttled } from "../Provider.ts"
import { parseJson } from "../../domain/json/Json.ts"
import { isJsonRecord, stringOf, type JsonRecord, jsonRecordsOf } from "./Json.ts"

/** Upper bound of `Retry-After`: a day. */
const LONGEST_WAIT_MS = 86_400_000
/** Length of an error message that is examined, in UTF-16 code units. */
const READ_LIMIT = 4_096
const rejections = new Set([400, 404, 413, 415, 422])
/** Codes of OpenAI's Responses API for a request at fault. It has no status of its own for them. */
const requestFaults = Object.fromEntries(
  [
    "invalid_prompt",
    "bio_policy",
    "cyber_policy",
    "misalignment_policy_violation",
    "image_content_policy_violation",
    "invalid_image",
    "invalid_image_format",
    "invalid_image_mode",
    "invalid_image_url",
    "invalid_base64_image",
    "image_too_large",
    "image_too_small",
    "image_file_too_large",
    "image_file_not_found",
    "image_parse_error",
    "empty_image_file",
    "failed_to_download_image",
    "unsupported_image_media_type"
  ].map((code) => [code, 400])
)
/** Codes and types of error objects, with the status that each stands for. */
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
  ...requestFaults,
  model_not_found: 404,
  not_found_error: 404,
  request_too_large: 413,
  timeout_error: 504
}
/** Finish reasons with which OpenRouter, DeepSeek, GLM and vLLM report a provider failure. */
const failures = new Set<unknown>(["error", "insufficient_system_resource", "network_error", "abort"])
/** Statuses in an error object that override the reply's status. */
const overriding = new Set<number | null>([401, 402, 429])
const contextMessages =
  /maximum (context|prompt) length|context[ _](length|window|limit|size)|prompt is too long|input is too long|too many (input )?tokens|reduce the length of|exceeds the maximum (number of |input )?token/i

/** An error object of any vendor, read leniently. */
interface ErrorFields {
  readonly message: string | null
  readonly param: string | null
  readonly code: string | null
  /** Status named by the object itself, by number or by kind. */
  readonly status: number | null
  /** Member of the request that is at fault, although the status blames our account. */
  readonly faultyMember: "messages" | "max_tokens" | null
}

/**
 * The reason for a reply whose status is not 2xx. `nowMs` is the reference for a `Retry-After`
 * date.
 */
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

/**
 * The reason for an error object inside a 200, a stream event or one of its choices. Null if `body`
 * contains no error.
 */
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
  return reasonOf(status, status, fields, status === 429 ? waitIn(fields.message ?? "") : null)
}

/** OpenAI's "try again in 1m30.5s", for errors that come without headers. Null if there is none. */
const waitIn = (message: string): number | null => {
  const [, told = ""] = /try again in ((?:\d+(?:\.\d+)?(?:h|ms|m|s))+)/i.exec(message) ?? []
  const parts = Array.from(told.toLowerCase().matchAll(/([\d.]+)(h|ms|m|s)/g), ([, amount, unit = ""]) => {
    return Number(amount) * (unitsMs[unit] ?? 0)
  })
  const waitMs = parts.reduce((sum, part) => sum + part, 0)
  return parts.length === 0 ? null : Math.min(LONGEST_WAIT_MS, Math.ceil(waitMs))
}

const unitsMs: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 }

const reasonOf = (
  meant: number | null,
  status: number,
  fields: ErrorFields,
  retryAfterMs: number | null
): ProviderReason => {
  const own = meant === 402 || meant === 403 ? fields.faultyMember : null
  if (own !== null) {
    const message = fields.message ?? `the provider answered ${status}`
    return new Rejected({ status, message, param: own, code: fields.code, contextLength: false })
  }
  const words = fields.message === null ? {} : { words: fields.message }
  if (meant === 401 || meant === 402 || meant === 403) return new CredentialsRefused({ status, ...words })
  if (meant === 429 || (meant === 503 && retryAfterMs !== null))
    return new Throttled({ status, retryAfterMs, ...words })
  if (meant === null || !rejections.has(meant)) return new ServerFault({ status, retryAfterMs, ...words })
  const isContextCode = fields.code === "context_length_exceeded"
  const message =
    fields.message ??
    (isContextCode ? "The prompt exceeds this model's maximum context length." : `the provider answered ${status}`)
  const contextLength = isContextCode || contextMessages.test(message)
  return new Rejected({ status, message, param: fields.param, code: fields.code, contextLength })
}

/** Reads an error object in any vendor's form: see `messageOf`. */
const fieldsOf = (body: unknown): ErrorFields => {
  const [first] = Array.isArray(body) ? jsonRecordsOf(body) : [body]
  if (!isJsonRecord(first))
    return { message: messageOf(body), param: null, code: null, status: null, faultyMember: null }
  const [listed] = jsonRecordsOf(first["errors"])
  const error = isJsonRecord(first["error"]) ? first["error"] : (listed ?? first)
  const code = typeof error["code"] === "number" ? String(error["code"]) : stringOf(error["code"])
  // AWS puts a namespace and "#" before the kind.
  const type = stringOf(error["type"]) ?? stringOf(error["__type"])?.split("#").at(-1) ?? null
  const metadata = isJsonRecord(error["metadata"]) ? error["metadata"] : {}
  const stated = messageOf(error) ?? messageOf(first)
  const raw = messageOf(metadata["raw"])
  const message = stated === null || raw === null ? (stated ?? raw) : `${stated}: ${raw}`
  return {
    message,
    param: stringOf(error["param"]),
    code: code ?? type,
    status: numericStatus(code) ?? kinds[code ?? ""] ?? kinds[type ?? ""] ?? null,
    faultyMember: faultyMemberOf(metadata, message ?? "")
  }
}

/**
 * Members in which vendors put a message: `{error: {message}}`, `{error: "…"}`, `{errors: […]}`,
 * FastAPI's `{detail: [{msg}]}`, Mistral's mixture of these.
 */
const messageMembers = ["message", "Message", "detail", "msg", "error", "errors"]

/** The first message found within four levels, or null. */
const messageOf = (value: unknown, levels = 4): string | null => {
  if (typeof value === "string") return oneLine(value)
  if (levels === 0) return null
  if (Array.isArray(value)) return messageOf(value[0], levels - 1)
  if (!isJsonRecord(value)) return null
  for (const member of messageMembers) {
    const message = messageOf(value[member], levels - 1)
    if (message !== null) return message
  }
  return null
}

/** The beginning of a text, in one line. */
const oneLine = (text: string): string | null =>
  text
    .slice(0, READ_LIMIT)
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ")
    .trim() || null

/** A body that is neither JSON nor an HTML page. */
const plainText = (text: string): string => (text.trimStart().startsWith("<") ? "" : text)

/**
 * The member of the request that a 402 or 403 is about: a flagged text, or an output limit that our
 * credit does not cover (OpenRouter reports both). Null if it is about our account.
 */
const faultyMemberOf = (metadata: JsonRecord, message: string): "messages" | "max_tokens" | null => {
  if (Array.isArray(metadata["reasons"]) || "flagged_input" in metadata) return "messages"
  return /max_(?:completion_|output_)?tokens/i.test(message) ? "max_tokens" : null
}

const numericStatus = (code: string | null): number | null => {
  const status = code === null ? Number.NaN : Number(code)
  return Number.isInteger(status) && status >= 400 && status <= 599 ? status : null
}

/**
 * Reads `retry-after-ms`, or `retry-after` in seconds or as an HTTP date. Takes the longest of
 * several valid values, at most a day. Null if there is none.
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

/** HTTP dates start with a weekday. `Date.parse` would accept `-5` too. */
const httpDate = /^[A-Za-z]{3,9},? /

/** Digits with an optional fraction: no sign, no exponent. */
const decimalOf = (value: string): number | null => (/^\d+(?:\.\d+)?$/.test(value) ? Number(value) : null)
