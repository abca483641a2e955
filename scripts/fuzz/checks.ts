/** Checks that every response must pass. */
import { type Call } from "./calls.ts"
import { misfit } from "./document.ts"

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly tookMs: number
}

/** A longer response time is a fault: no call here needs to wait. */
const LONGEST_MS = 20_000

/** Errors that a provider may cause. */
const providerTypes = new Set([
  "provider_error",
  "provider_unavailable",
  "provider_timeout",
  "provider_rate_limited",
  "overloaded"
])

const parsed = (text: string): { readonly value: unknown } | null => {
  try {
    return { value: JSON.parse(text) as unknown }
  } catch {
    return null
  }
}

const streamFault = (text: string): string | undefined => {
  const events = text.split("\n\n").filter((event) => event !== "" && !event.startsWith(":"))
  if (events.at(-1) !== "data: [DONE]") return `the stream ends with ${JSON.stringify(events.at(-1)?.slice(0, 80))}`
  const broken = events.slice(0, -1).find((event) => !event.startsWith("data: ") || parsed(event.slice(6)) === null)
  return broken === undefined ? undefined : `an event of the stream is not JSON: ${broken.slice(0, 80)}`
}

/** The fault of a response, or undefined. */
export const faultOf = (
  { isRehearsal, operation, path }: Call,
  { headers, status, text, tookMs }: Answer
): string | undefined => {
  if (tookMs > LONGEST_MS) return `answered after ${Math.round(tookMs)} ms`
  if (headers.get("x-request-id") === null) return "x-request-id is missing"
  // Paths and headers longer than any identifier may be rejected as unknown or too large.
  if ((status === 404 && text.includes("route_not_found") && path.length > 100) || status === 431) return undefined
  const described = operation.responses[status]
  if (described === undefined) return `status ${status} is not in the document`
  const [type = ""] = (headers.get("content-type") ?? "").split(";")
  const content = Object.fromEntries(
    Object.entries(described.content ?? {}).map(([name, media]) => [name.split(";")[0] ?? "", media])
  )
  if (text !== "" && content[type] === undefined)
    return `content type ${type} of status ${status} is not in the document`
  if (type === "text/event-stream") return streamFault(text)
  if (type !== "application/json") return undefined
  const json = parsed(text)
  if (json === null) return "the body is not JSON"
  const schema = content[type]?.schema
  const found = schema === undefined ? undefined : misfit(schema, json.value)
  if (found !== undefined) return `the body of status ${status} breaks its schema: ${found}`
  if (status < 400) return undefined
  const { error } = json.value as { readonly error?: { readonly type?: string; readonly request_id?: string } }
  if (operation.name.startsWith("health")) return undefined
  if (error?.request_id !== headers.get("x-request-id")) return "the envelope names another request id than the header"
  if (status === 500) return "an internal error"
  if (status > 500 && !isRehearsal && !providerTypes.has(error?.type ?? "")) return `an unexpected ${error?.type ?? ""}`
  return undefined
}
