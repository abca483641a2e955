/**
 * The sign-in methods that this gateway offers, for pages that present them. Names only: no client
 * ids, no addresses.
 */
import { Context, Effect, Layer } from "effect"
import { type Channel } from "../../domain/User.ts"
import { Delivery } from "../../identity/Delivery.ts"
import { IdentityProviders } from "../../identity/IdentityProviders.ts"

export class SignInMethods extends Context.Service<
  SignInMethods,
  {
    /** The channels that codes are sent by. */
    readonly channels: ReadonlyArray<Channel>
    /** OAuth providers, by their name in `/auth/oauth/{provider}`. */
    readonly providers: ReadonlyArray<string>
    /** True when codes are shown in the development mailbox because no delivery is configured. */
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
