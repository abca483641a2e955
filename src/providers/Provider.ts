/**
 * The port to one provider: what every dialect implements and the router calls, and the errors that it may answer with. A
 * provider makes one attempt; retries, fallback and the total time limit are the router's.
 */
import { Data, type Effect, type Scope, type Stream } from "effect"
import { type ModelOffer, type ProviderConfig } from "../domain/Catalog.ts"
import { type ChatEvent, type ChatReply, type ChatRequest } from "../domain/Chat.ts"
import { type EmbeddingReply, type EmbeddingRequest } from "../domain/Embedding.ts"

/** No connection: refused, DNS, TLS, reset before any byte of an answer. */
export class Unreachable extends Data.TaggedClass("Unreachable")<{ readonly detail: string }> {}
/** A time limit ran out: connecting, before the first token, between tokens. */
export class TimedOut extends Data.TaggedClass("TimedOut")<{
  readonly phase: "connect" | "first_token" | "idle" | "total"
}> {}
/** The provider asks for patience: 429, or 503 with `Retry-After`. `retryAfterMs: null`: it did not say how long. */
export class Throttled extends Data.TaggedClass("Throttled")<{
  readonly status: number
  readonly retryAfterMs: number | null
}> {}
/** The provider failed: 5xx, or a status that makes no sense. */
export class ServerFault extends Data.TaggedClass("ServerFault")<{
  readonly status: number
  readonly retryAfterMs: number | null
}> {}
/** The provider refuses our credentials (401, 403): the operator's problem, never the client's. */
export class CredentialsRefused extends Data.TaggedClass("CredentialsRefused")<{ readonly status: number }> {}
/** The provider refuses the request: as its own fault (400, 413, 422, content policy), or because it does not know the model (404). */
export class Rejected extends Data.TaggedClass("Rejected")<{
  readonly status: number
  /** The provider's own words, without anything secret. */
  readonly message: string
  readonly param: string | null
  readonly code: string | null
  readonly contextLength: boolean
}> {}
/** An answer that is none: HTML, malformed JSON, an error object inside a 200, an empty completion. */
export class Malformed extends Data.TaggedClass("Malformed")<{ readonly detail: string }> {}
/** More than is read of a reply, or of one event of a stream: nothing that a second try would make smaller. */
export class TooLarge extends Data.TaggedClass("TooLarge")<{ readonly limitBytes: number }> {}
/** The stream ended or broke before its terminator. */
export class Cut extends Data.TaggedClass("Cut")<{ readonly detail: string }> {}
/** What the dialect cannot express. `param` names it. */
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

export class ProviderError extends Data.TaggedError("ProviderError")<{
  readonly provider: string
  readonly reason: ProviderReason
}> {
  override get message(): string {
    return `${this.provider}: ${this.reason._tag}`
  }
  /**
   * Whether no other provider would take the request better. One that does not know the model is out of date or set up
   * wrongly; another one may well know it.
   */
  get isRequestsFault(): boolean {
    const { reason } = this
    return reason._tag === "Rejected" && (reason.status !== NOT_FOUND || reason.contextLength)
  }
  get retryAfterMs(): number | null {
    return "retryAfterMs" in this.reason ? this.reason.retryAfterMs : null
  }
  get httpStatus(): number | null {
    return "status" in this.reason ? this.reason.status : null
  }
}

/** One chat call. `offer` is the model at this provider; `request` is the client's, gateway-only members included. */
export interface ChatCall {
  readonly request: ChatRequest
  readonly offer: ModelOffer
  /** How long a whole reply may take; the config's total unless given. */
  readonly limitMs?: number
}

export interface EmbedCall {
  readonly request: EmbeddingRequest
  readonly offer: ModelOffer
}

export interface Provider {
  readonly config: ProviderConfig
  /**
   * Its chat calls end by themselves when a time limit is over: a whole reply at `limitMs`, a stream at the config's limits to the first
   * token and between events. Where it does not, the router sets timers of its own, at the price of a fiber for each.
   */
  readonly keepsLimits?: boolean
  /** A whole reply. */
  readonly chat: (call: ChatCall) => Effect.Effect<ChatReply, ProviderError>
  /**
   * Opens a stream. Succeeds once the provider answered with a good status; the stream then yields its events and fails when it
   * breaks. Closing the scope aborts the upstream call.
   */
  readonly chatStream: (
    call: ChatCall
  ) => Effect.Effect<Stream.Stream<ChatEvent, ProviderError>, ProviderError, Scope.Scope>
  readonly embed: (call: EmbedCall) => Effect.Effect<EmbeddingReply, ProviderError>
}
