/** Comparable forms of responses: the status, the headers of the contract, and the bytes. */
import { type ChatEvent, type ChatReply, type UsageInfo } from "../../src/domain/Chat.ts"
import { type Answered } from "../support/TestApp.ts"

const contractHeaders = [
  "content-type",
  "cache-control",
  "x-accel-buffering",
  "x-request-id",
  "x-generation-id",
  "x-tollgate-cache",
  "x-tollgate-provider",
  "x-ratelimit-limit-requests",
  "x-ratelimit-remaining-requests",
  "x-ratelimit-reset-requests",
  "x-ratelimit-limit-tokens",
  "x-ratelimit-remaining-tokens",
  "x-ratelimit-reset-tokens",
  "retry-after",
  "www-authenticate",
  "allow",
  "x-should-retry"
]

export interface Seen {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Other headers (date, length, connection) are left out. */
export const seen = ({ headers, status, text }: Answered): Seen => ({
  status,
  headers: Object.fromEntries(
    contractHeaders.flatMap((name) => {
      const value = headers.get(name)
      return value === null ? [] : [[name, value]]
    })
  ),
  body: text
})

/** The nth identifier of a test application, at the epoch of its clock. */
export const id = (prefix: string, count: number): string => `${prefix}_000000000000${String(count).padStart(20, "0")}`

export const ask = (content: string, more: Readonly<Record<string, unknown>> = {}) => ({
  model: "test/small",
  messages: [{ role: "user", content }],
  ...more
})

export const helloReply: ChatReply = {
  choices: [{ index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" }],
  usage: { promptTokens: 3, completionTokens: 1, cachedTokens: 0 },
  systemFingerprint: null
}

export const delta = (members: Readonly<Record<string, unknown>>, index = 0): ChatEvent => ({
  _tag: "Choices",
  choices: [{ index, delta: members, finish_reason: null }]
})

export const finish = (reason = "stop", index = 0): ChatEvent => ({
  _tag: "Choices",
  choices: [{ index, delta: {}, finish_reason: reason }]
})

export const end: ChatEvent = {
  _tag: "End",
  usage: { promptTokens: 3, completionTokens: 2, cachedTokens: 0 },
  systemFingerprint: null
}

/** The data events of a stream, in order. */
export const dataOf = (text: string): ReadonlyArray<string> =>
  text
    .split("\n\n")
    .filter((block) => block.startsWith("data: "))
    .map((block) => block.slice(6))

/** The members of a chunk that the tests read. */
export interface Chunk {
  readonly id: string
  readonly object: string
  readonly created: number
  readonly model: string
  readonly provider: string
  readonly choices: ReadonlyArray<{
    readonly index: number
    readonly delta: Readonly<Record<string, unknown>>
    readonly finish_reason: string | null
    readonly logprobs?: unknown
  }>
  readonly usage?: UsageInfo | null
  readonly error?: ReturnType<typeof errorOf>
  readonly generation_id?: string | null
}

/** The chunks of a stream, without `[DONE]`. */
export const chunksOf = (text: string): ReadonlyArray<Chunk> =>
  dataOf(text)
    .filter((data) => data !== "[DONE]")
    .map((data) => JSON.parse(data))

export interface WireError {
  readonly type: string
  readonly code: string
  readonly message: string
  readonly param?: string
  readonly requestId?: string
  readonly retryable?: boolean
  readonly retryAfter?: number
  readonly details?: Readonly<Record<string, unknown>>
}

/** The members of an error in wire order. */
export const errorOf = ({ code, details, message, param, requestId, retryAfter, retryable, type }: WireError) => ({
  type,
  code,
  message,
  param: param ?? null,
  request_id: requestId ?? "r-1",
  retryable: retryable ?? false,
  retry_after: retryAfter ?? null,
  details: details ?? {}
})

/** The bytes of an error. The request id is `r-1` unless another is given. */
export const envelope = (error: WireError): string => JSON.stringify({ error: errorOf(error) })

/** `remaining` and `reset` of requests and tokens, for an enterprise key. */
export const enterpriseLimits = (
  requests: readonly [remaining: number, reset: string],
  tokens: readonly [remaining: number, reset: string]
) => ({
  "x-ratelimit-limit-requests": "3000",
  "x-ratelimit-remaining-requests": String(requests[0]),
  "x-ratelimit-reset-requests": requests[1],
  "x-ratelimit-limit-tokens": "4000000",
  "x-ratelimit-remaining-tokens": String(tokens[0]),
  "x-ratelimit-reset-tokens": tokens[1]
})

/** Sets the request id, so that the bytes of the response are known. */
export const named = (requestId = "r-1") => ({ headers: { "x-request-id": requestId } })
