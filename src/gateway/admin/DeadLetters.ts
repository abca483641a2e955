/** Events that no webhook accepted, listed for the operator. */
import { Context, Effect, Layer } from "effect"
import { type GatewayError } from "../../domain/Errors.ts"
import { type DeadLetterPage, Notices } from "../../store/notices/Notices.ts"
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
    Effect.map(Notices, (notices) => DeadLetters.of({ list: (page) => orUnavailable(notices.buried(page)) }))
  )
}
