/** Which ways of signing in this gateway offers, for pages that have to ask. Names only: no client id, no address. */
import { Context, Effect, Layer } from "effect"
import { type Channel } from "../../domain/User.ts"
import { Delivery } from "../../identity/Delivery.ts"
import { IdentityProviders } from "../../identity/IdentityProviders.ts"

export class SignInMethods extends Context.Service<
  SignInMethods,
  {
    /** How codes are sent. */
    readonly channels: ReadonlyArray<Channel>
    /** OAuth providers, by the name that stands in `/auth/oauth/{provider}`. */
    readonly providers: ReadonlyArray<string>
    /** Whether codes that nobody could send are shown in the development mailbox. */
    readonly hasMailbox: boolean
  }
>()("tollgate/gateway/signin/SignInMethods") {
  static readonly layer = Layer.effect(
    SignInMethods,
    Effect.gen(function* () {
      const { channels, mailbox } = yield* Delivery
      const { names } = yield* IdentityProviders
      return { channels, providers: names, hasMailbox: mailbox !== null }
    })
  )
}
