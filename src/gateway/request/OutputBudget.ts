/** What a request's reservation lets its calls do. Billing makes it once the budget was asked, routing works within it. */
import { type Effect, type Stream } from "effect"
import { type Candidate } from "../../domain/Catalog.ts"
import { type ChatEvent } from "../../domain/Chat.ts"
import { type GatewayError } from "../../domain/Errors.ts"

export interface OutputBudget {
  /** Completion tokens a choice that are paid for; `null`: no bound beyond the client's own. */
  readonly affordableTokens: number | null
  /** A part of the worst case is held: the output has to be watched, because more is held while it comes. */
  readonly isSliced: boolean
  /** Holds a further call's prompt. False where the budget has no room for it, or the ledger does not answer. */
  readonly hold: (candidate: Candidate, promptTokens: number) => Effect.Effect<boolean>
  /** Lets an answer's events through as long as they are paid for. */
  readonly watch: <E>(events: Stream.Stream<ChatEvent, E>) => Stream.Stream<ChatEvent, E | GatewayError>
}
