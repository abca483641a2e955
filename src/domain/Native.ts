/**
 * A client's request in the form of its own API, and answers in that form. A provider of the same
 * API gets and gives them as they are, so that nothing is lost that chat completions cannot
 * express.
 */
import { type Candidate } from "./Catalog.ts"
import { type ChatEvent, type Members } from "./Chat.ts"

/** The APIs that have a native lane: Anthropic's Messages, and OpenAI's Responses. */
export type NativeDialect = "anthropic" | "responses"

/** A member of a request that not every provider can be sent, and why. */
export interface Inexpressible {
  readonly param: string
  readonly message: string
}

export interface NativeRequest {
  readonly dialect: NativeDialect
  /** The client's whole body. */
  readonly body: Members
  /** The client's headers that the vendor reads, with names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** What chat completions cannot express; null: other providers can answer too. */
  readonly only: Inexpressible | null
  /**
   * The first member that refers to an object in the account at the vendor, which all keys share;
   * null: there is none.
   */
  readonly accountObjects: string | null
  /** Further models that the vendor may answer with, by the names that the client used. */
  readonly models: ReadonlyArray<string>
}

/** Whether the candidate speaks the API of the request. */
export const speaks = ({ offer, provider }: Candidate, dialect: NativeDialect): boolean =>
  dialect === "anthropic"
    ? provider.dialect === "anthropic"
    : provider.dialect === "openai" && offer.api === "responses"

/** The request in its own form, if the candidate speaks its API. */
export const nativeFor = (
  { native }: { readonly native?: NativeRequest | undefined },
  candidate: Candidate
): NativeRequest | undefined => (native !== undefined && speaks(candidate, native.dialect) ? native : undefined)

/** Why the candidate cannot be sent the request; null: it can. */
export const nativeRefusal = (
  { accountObjects, dialect, only }: NativeRequest,
  candidate: Candidate
): Inexpressible | null => {
  if (only !== null && !speaks(candidate, dialect)) return only
  if (accountObjects === null || candidate.provider.accountObjects === true) return null
  const message = `${accountObjects} refers to an object in the account at the provider, which other keys share. A provider's entry can allow it with account_objects: allow.`
  return { param: accountObjects, message }
}

/** A vendor's refusal of the request itself, in its own words: its status and its error object. */
export interface VendorRefusal {
  readonly status: number
  readonly error: Members
}

/** Events of both APIs that begin an answer, before anything of it. */
const opening = new Set<unknown>([
  "message_start",
  "ping",
  "response.created",
  "response.queued",
  "response.in_progress"
])

/** Whether some event is a part of an answer. */
export const bringsPart = (events: ReadonlyArray<Members>): boolean => events.some(({ type }) => !opening.has(type))

/** True if the event ends the wait for the first token. Roles and empty deltas do not. */
export const carriesToken = (event: ChatEvent): boolean =>
  event._tag === "End" ||
  (event.native !== undefined && bringsPart(event.native)) ||
  event.choices.some(
    ({ delta, finish_reason: finishReason }) =>
      finishReason !== null ||
      Boolean(
        delta.content ||
        delta.refusal ||
        delta.reasoning ||
        delta.tool_calls?.length ||
        delta["function_call"] ||
        delta["audio"] ||
        delta["reasoning_details"]
      )
  )

/** Members in which an event names the kind of the part that it begins or continues. */
const kinds = ["content_block", "delta", "item", "part"]
/** Kinds of parts that are plain text. */
const plain = new Set<unknown>(["text", "text_delta", "message", "output_text"])
const continuing = new Set<unknown>([
  "content_block_start",
  "content_block_delta",
  "response.output_item.added",
  "response.content_part.added"
])

/**
 * Whether after this event another provider can go on: the answer has begun, or plain text is open.
 */
export const leavesTextOpen = (event: Members): boolean => {
  const { type } = event
  if (opening.has(type) || type === "response.output_text.delta") return true
  return (
    continuing.has(type) &&
    kinds.some((name) => {
      const part = event[name]
      return typeof part === "object" && part !== null && "type" in part && plain.has(part.type)
    })
  )
}
