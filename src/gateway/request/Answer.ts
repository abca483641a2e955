/** An answer to a chat request, with its origin, on its way to the client. */
import { type Batches } from "../../domain/runtime/Batches.ts"
import { type Candidate } from "../../domain/Catalog.ts"
import { type ChatEvent, type ChatReply, type Choices, type Members, type UsageInfo } from "../../domain/Chat.ts"
import { type GatewayError } from "../../domain/Errors.ts"
import { type ProviderError } from "../../providers/Provider.ts"

/** The candidate and the source of an answer. */
export interface Origin {
  readonly candidate: Candidate
  readonly fallbackUsed: boolean
  readonly source: "upstream" | "cache"
}

/** An answer of the router or of the cache. */
export interface Answer extends Origin {
  readonly latencyMs: number
  readonly body:
    | { readonly _tag: "Whole"; readonly reply: ChatReply }
    | { readonly _tag: "Stream"; readonly events: Batches<ChatEvent, ProviderError | GatewayError> }
}

/**
 * A stream as the client sees it: deltas, then `Failed` if it broke off, then `Usage`. It never
 * fails: an error is an event. `endedAtMs`: Unix milliseconds.
 */
export type CompletionEvent =
  | Choices
  | { readonly _tag: "Failed"; readonly error: GatewayError }
  | {
      readonly _tag: "Usage"
      readonly usage: UsageInfo
      readonly endedAtMs?: number
      /** The events that end the stream in the client's own API. */
      readonly native?: ReadonlyArray<Members>
    }

/**
 * The common part of a whole reply and of every chunk of a stream. `createdAtMs`: Unix
 * milliseconds.
 */
export interface Head {
  readonly completionId: string
  readonly generationId: string
  readonly createdAtMs: number
  readonly model: string
  readonly provider: string
  readonly cacheHit: boolean
  /**
   * Of a stream of the Messages API: the tokens of the prompt, as the provider reported them at its
   * beginning or as they are counted here.
   */
  readonly promptTokens?: number
  /** The members of the request that the provider did not get. Undefined: it got all of them. */
  readonly dropped?: ReadonlyArray<string>
  /** The budget had room for less output than the request asks for. Undefined: it had room. */
  readonly isClamped?: boolean
}

/** A completion, whole or streamed. */
export type Completed =
  | {
      readonly _tag: "Reply"
      readonly head: Head
      readonly reply: ChatReply
      readonly usage: UsageInfo
      readonly endedAtMs?: number
    }
  | { readonly _tag: "Stream"; readonly head: Head; readonly events: Batches<CompletionEvent> }
