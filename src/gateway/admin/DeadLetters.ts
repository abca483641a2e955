/** Events that no webhook accepted, listed for the operator. */
import { Context, Effect, Layer } from "effect"
import { type GatewayError } from "../../domain/Errors.ts"
import { type DeadLetterPage, DeadLetterStore } from "../../store/webhooks/DeadLetterStore.ts"
import { orUnavailable } from "../StoreUnavailable.ts"

export class DeadLetters extends Context.Service<
  DeadLetters,
  {
    /** Newest first. `limit` is at least 1. */
    readonly list: (page: {
      readonly limit: number
      readonly cursor: string | null
    }) => Effect.Effect<DeadLetterPage, GatewayError>
  }
>()("tollgate/gateway/admin/DeadLetters") {
  static readonly layer = Layer.effect(
    DeadLetters,
    Effect.map(DeadLetterStore, (store) => DeadLetters.of({ list: (page) => orUnavailable(store.list(page)) }))
  )
}
