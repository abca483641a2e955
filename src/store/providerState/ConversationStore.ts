/**
 * Where each conversation was answered last: its name, to the provider's key that warmed its prompt
 * cache. A place is forgotten after ten minutes without an answer. The number of conversations that
 * a process remembers is bounded.
 */
import { Context, type Effect } from "effect"
import { type StoreError } from "../StoreError.ts"

/** Vendors keep an unused prompt cache for five to ten minutes. */
export const CONVERSATION_TTL_MS = 600_000
/** The most conversations in the memory of a process. Older ones are forgotten first. */
export const MOST_CONVERSATIONS = 50_000

export class ConversationStore extends Context.Service<
  ConversationStore,
  {
    /** The place, if this process knows it. */
    readonly peek: (name: string, nowMs: number) => string | undefined
    /** The place, as any process knows it. */
    readonly get: (name: string, nowMs: number) => Effect.Effect<string | undefined, StoreError>
    /** Remembers the place. Other processes learn of it a little later, or not at all. */
    readonly put: (name: string, place: string, nowMs: number) => void
  }
>()("tollgate/store/providerState/ConversationStore") {}
