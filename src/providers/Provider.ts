/**
 * The port to one provider: the interface that every dialect implements and the router calls, and
 * the errors of a call.
 *
 * A provider makes one attempt. Retries, fallback and the total deadline belong to the router.
 */
import { Data, type Effect, type Scope } from "effect"
import { type Batches } from "../domain/runtime/Batches.ts"
import { type ModelOffer, type ProviderConfig } from "../domain/Catalog.ts"
import { type ChatEvent, type ChatReply, type ChatRequest } from "../domain/Chat.ts"
import { type EmbeddingReply, type EmbeddingRequest } from "../domain/Embedding.ts"
import { type NativeRequest, type VendorRefusal } from "../domain/Native.ts"
import { type TokenUsage } from "../domain/pricing/Money.ts"

/** No connection: refused, DNS, TLS, or reset before the first byte of a response. */
export class Unreachable extends Data.TaggedClass("Unreachable")<{ readonly detail: string }> {}
/** A time limit expired: connecting, before the first byte or token, after it, or in total. */
export class TimedOut extends Data.TaggedClass("TimedOut")<{
  readonly phase: "connect" | "first_byte" | "first_token" | "idle" | "total"
}> {}
/**
 * The provider limits the rate: 429, or 503 with `Retry-After`. `retryAfterMs` is null if it names
 * no delay.
 */
export class Throttled extends Data.TaggedClass("Throttled")<{
  readonly status: number
  readonly words?: string
  readonly retryAfterMs: number | null
}> {}
/** The provider failed: 5xx, or a status that makes no sense. */
export class ServerFault extends Data.TaggedClass("ServerFault")<{
  readonly status: number
  readonly words?: string
  readonly retryAfterMs: number | null
}> {}
/**
 * The provider rejects our credentials (401, 403). The operator must repair this, not the client.
 */
export class CredentialsRefused extends Data.TaggedClass("CredentialsRefused")<{
  readonly status: number
  readonly words?: string
}> {}
/**
 * The provider rejects the request: the request is at fault (400, 413, 422, content policy), or the
 * provider does not know the model (404).
 */
export class Rejected extends Data.TaggedClass("Rejected")<{
  readonly status: number
  /** The provider's own message, without secrets. */
  readonly message: string
  readonly param: string | null
  readonly code: string | null
  readonly contextLength: boolean
  /** What a client of the provider's own API is told; undefined: it is told `message`. */
  readonly own?: VendorRefusal
}> {}
/** An invalid response: HTML, malformed JSON, an error object inside a 200, an empty completion. */
export class Malformed extends Data.TaggedClass("Malformed")<{ readonly detail: string }> {}
/** A reply, or one event of a stream, exceeds its size limit. A retry would not make it smaller. */
export class TooLarge extends Data.TaggedClass("TooLarge")<{ readonly limitBytes: number }> {}
/** The stream ended or broke before its terminator. */
export class Cut extends Data.TaggedClass("Cut")<{ readonly detail: string }> {}
/** The dialect cannot express a parameter of the request. `param` names it. */
export class Unsupported extends Data.TaggedClass("Unsupported")<{
  readonly param: string
  readonly message: string
}> {}

export type ProviderReason =
  | Unreachable
  | TimedOut
  | Throttled
  | ServerFault
  | CredentialsRefused
  | Rejected
  | Malformed
  | TooLarge
  | Cut
  | Unsupported

const NOT_FOUND = 404
const TOO_MANY_REQUESTS = 429

export class ProviderError extends Data.TaggedError("ProviderError")<{
  readonly provider: string
  readonly reason: ProviderReason
  /** What the provider said, without secrets. For operators. */
  readonly words?: string
}> {
  override get message(): string {
    return `${this.provider}: ${this.reason._tag}`
  }
  /**
   * True if every other provider would reject the request too. An unknown model (404) does not
   * count: another provider may know it.
   */
  get isRequestsFault(): boolean {
    const { reason } = this
    return reason._tag === "Rejected" && (reason.status !== NOT_FOUND || reason.contextLength)
  }
  /**
   * True if the failure concerns the key of the call, so another key of the provider may do better:
   * the key is refused, has no money left, or has reached its rate limit.
   */
  get isKeysFault(): boolean {
    const { reason } = this
    return reason._tag === "CredentialsRefused" || (reason._tag === "Throttled" && reason.status === TOO_MANY_REQUESTS)
  }
  get retryAfterMs(): number | null {
    return "retryAfterMs" in this.reason ? this.reason.retryAfterMs : null
  }
  get httpStatus(): number | null {
    return "status" in this.reason ? this.reason.status : null
  }
}

/**
 * One chat call. `offer` is the model at this provider. `request` is the client's request, with the
 * members that only the gateway reads.
 */
export interface ChatCall {
  readonly request: ChatRequest
  readonly offer: ModelOffer
  /**
   * The request in its own form, if the provider speaks its API. It is sent in place of `request`,
   * with the provider's name of the model and the output limit of `request`.
   */
  readonly native?: NativeRequest | undefined
  /**
   * Time limit of a whole reply, or of the silence before a stream's first token, in ms. Default:
   * the config's.
   */
  readonly limitMs?: number
  /**
   * Told which members of the request the provider does not get, before the call is made. Not
   * called if it gets all of them.
   */
  readonly leftOut?: (members: ReadonlyArray<string>) => void
  /**
   * Told the usage of the prompt, without output, if the provider reports it before the end of a
   * stream. Called at most once.
   */
  readonly promptUsage?: (usage: TokenUsage) => void
}

export interface EmbedCall {
  readonly request: EmbeddingRequest
  readonly offer: ModelOffer
}

/** A count of the tokens of a prompt. */
export interface CountCall {
  readonly native: NativeRequest
  readonly offer: ModelOffer
  readonly limitMs: number
}

export interface Provider {
  readonly config: ProviderConfig
  /**
   * True if the provider enforces its time limits itself: `limitMs`, and the config's limits for
   * the rest. Otherwise the router sets timers, which cost a fiber each.
   */
  readonly keepsLimits?: boolean
  /** True if inputs of embeddings may be token ids. Otherwise they are always texts. */
  readonly takesTokenIds?: boolean
  /** Requests a whole reply. */
  readonly chat: (call: ChatCall) => Effect.Effect<ChatReply, ProviderError>
  /**
   * Opens a stream. Succeeds when the provider has sent a 2xx status, with the events as they come;
   * `Batches.fromStream` makes them from a `Stream`. They fail if the connection breaks. Closing
   * the scope aborts the upstream call.
   */
  readonly chatStream: (call: ChatCall) => Effect.Effect<Batches<ChatEvent, ProviderError>, ProviderError, Scope.Scope>
  /** Counts a prompt without an answer. Absent: the provider does not. */
  readonly countTokens?: (call: CountCall) => Effect.Effect<number, ProviderError>
  readonly embed: (call: EmbedCall) => Effect.Effect<EmbeddingReply, ProviderError>
}
