/** Read access to the development mailbox; null when there is none, as in production. */
import { Context, type Effect, Layer } from "effect"
import { type Letter } from "../../identity/CodeMessage.ts"
import { Delivery } from "../../identity/Delivery.ts"

export class CodeMailbox extends Context.Service<
  CodeMailbox,
  { readonly read: Effect.Effect<ReadonlyArray<Letter>> | null }
>()("tollgate/gateway/signin/CodeMailbox") {
  static readonly layer = Layer.effect(
    CodeMailbox,
    Delivery.useSync(({ mailbox }) => ({ read: mailbox }))
  )
}
