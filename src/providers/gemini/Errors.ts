/**
 * Maps Google's error objects: `{error: {code, message, status, details}}`, also wrapped in a list.
 * A bad key comes as a 400 and an account without permission as `FAILED_PRECONDITION`; both are for
 * the operator. The retry delay is in the details instead of a header. The faulty member has
 * Google's name, which is translated to the client's.
 */
import { type IncomingHttpHeaders } from "node:http"
import { type Refusals } from "../wire/Decode.ts"
import { type ProviderReason } from "../Provider.ts"
import { errorInBody, reasonOfStatus } from "../wire/ErrorMapping.ts"
import { parseJson } from "../../domain/json/Json.ts"
import { countOf, isJsonRecord, stringOf, type JsonRecord, jsonRecordsOf } from "../wire/Json.ts"

/** Members of the client's request, by patterns of Google's field paths. The first match wins. */
const members: ReadonlyArray<readonly [RegExp, string]> = [
  [/system_?instruction|contents/i, "messages"],
  [/tool_?config|function_?calling_?config/i, "tool_choice"],
  [/tools|function_?declarations/i, "tools"],
  [/response_?(mime_?type|schema|json_?schema)/i, "response_format"],
  [/response_?logprobs/i, "logprobs"],
  [/thinking_?(config|budget|level)/i, "reasoning_effort"],
  [/max_?output_?tokens/i, "max_tokens"],
  [/candidate_?count/i, "n"],
  [/stop_?sequences/i, "stop"],
  [/top_?p\b/i, "top_p"],
  [/temperature/i, "temperature"],
  [/seed/i, "seed"],
  [/logprobs/i, "top_logprobs"],
  [/requests|output_?dimensionality/i, "input"]
]
const tooLong = /token count .*exceeds the maximum number of tokens|exceeds the maximum (input )?token/i

/** The reason for a reply whose status is not 2xx. */
const googleRefusal = (status: number, headers: IncomingHttpHeaders, text: string, nowMs: number): ProviderReason => {
  const body = parseJson(text)
  const [first] = Array.isArray(body) ? jsonRecordsOf(body) : [body]
  const error = isJsonRecord(first) ? first["error"] : undefined
  if (!isJsonRecord(error)) return reasonOfStatus(status, headers, text, nowMs)
  const details = jsonRecordsOf(error["details"])
  const message = stringOf(error["message"])
  const delay = delayOf(details)
  const normalized = JSON.stringify({
    error: { message, param: paramOf(details, message), code: codeOf(error, details) }
  })
  return reasonOfStatus(status, delay === null ? headers : { "retry-after": delay, ...headers }, normalized, nowMs)
}

/** The reason for an error object inside a 200 or a stream event, or null. */
export const googleRefusalInside = (body: JsonRecord): ProviderReason | null => {
  const error = body["error"]
  if (!isJsonRecord(error)) return errorInBody(body)
  return googleRefusal(countOf(error["code"]) ?? 500, {}, JSON.stringify({ error }), 0)
}

export const googleRefusals: Refusals = { of: googleRefusal, inside: googleRefusalInside }

/**
 * A code that names the kind of failure where the status alone would mislead, otherwise Google's
 * own.
 */
const codeOf = (error: JsonRecord, details: ReadonlyArray<JsonRecord>): string | null => {
  const reason = details.map((detail) => stringOf(detail["reason"])).find((found) => found !== null)
  if (reason === "API_KEY_INVALID" || reason === "API_KEY_EXPIRED") return "invalid_api_key"
  const status = stringOf(error["status"])
  if (status === "FAILED_PRECONDITION") return "billing_not_active"
  if (tooLong.test(stringOf(error["message"]) ?? "")) return "context_length_exceeded"
  return status === null ? null : status.toLowerCase()
}

/** `RetryInfo`'s `"34.5s"`, in seconds. */
const delayOf = (details: ReadonlyArray<JsonRecord>): string | null => {
  const delays = details.flatMap((detail) => stringOf(detail["retryDelay"]) ?? [])
  const seconds = Number(delays[0]?.replace(/s$/, "") ?? Number.NaN)
  return Number.isFinite(seconds) ? String(seconds) : null
}

/**
 * Finds the path in a violated field, or at the beginning of the message: `*
 * GenerateContentRequest.tools[0]…: …`.
 */
const paramOf = (details: ReadonlyArray<JsonRecord>, message: string | null): string | null => {
  const violations = details.flatMap((detail) => jsonRecordsOf(detail["fieldViolations"]))
  const fields = violations.flatMap((violation) => stringOf(violation["field"]) ?? [])
  const path = fields[0] ?? /ContentRequest\.([\w.[\]]+)/.exec(message ?? "")?.[1] ?? null
  return path === null ? null : (members.find(([pattern]) => pattern.test(path))?.[1] ?? null)
}
