/**
 * The limits that a reservation sets on the request's calls. Billing makes it after the
 * reservation; routing keeps to it.
 */
import { type Effect } from "effect"
import { type Batches } from "../../domain/runtime/Batches.ts"
import { type Candidate } from "../../domain/Catalog.ts"
import { type ChatEvent } from "../../domain/Chat.ts"
import { type GatewayError } from "../../domain/Errors.ts"
import { type PromptTokens } from "../../domain/PromptTokens.ts"

export interface OutputBudget {
  /** Affordable completion tokens a choice; null for no limit beyond the client's own. */
  readonly affordableTokens: number | null
  /**
   * A slice of the worst case is held. The output must be observed, because more is reserved while
   * it arrives.
   */
  readonly isSliced: boolean
  /**
   * Reserves the prompt of another call: its count, if the key has a cap. False: the budget has no
   * room for it, or the ledger does not answer.
   */
  readonly hold: (candidate: Candidate, prompt: PromptTokens) => Effect.Effect<boolean>
  /** Passes on an answer's events as long as they are paid for. */
  readonly watch: <E>(events: Batches<ChatEvent, E>) => Batches<ChatEvent, E | GatewayError>
}
