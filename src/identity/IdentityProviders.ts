/**
 * People by the word of somebody else: an OAuth authorization code flow with PKCE, a nonce and a state, up to who the person is. What the
 * provider says is checked (signature, issuer, audience, nonce, times); an address counts only when the provider calls it verified.
 */
import { Context, type Effect, Layer } from "effect"
import { type Outbound } from "../providers/transport/Outbound.ts"
import { type ExternalIdentity, type FlowSecrets, type IdentityError, type OAuthClients } from "./ExternalIdentity.ts"
import { makeIdentityProviders } from "./OAuthClients.ts"

export class IdentityProviders extends Context.Service<
  IdentityProviders,
  {
    readonly names: ReadonlyArray<string>
    /** Where the person has to go. Dies on a provider that there is not. */
    readonly authorizationUrl: (
      provider: string,
      redirectUri: string,
      secrets: FlowSecrets
    ) => Effect.Effect<string, IdentityError>
    /** Who came back. `callbackUrl`: where the browser arrived, with all that the provider put into the query. */
    readonly identify: (
      provider: string,
      callbackUrl: URL,
      secrets: FlowSecrets
    ) => Effect.Effect<ExternalIdentity, IdentityError>
  }
>()("tollgate/identity/IdentityProviders") {
  static readonly layer = (clients: OAuthClients): Layer.Layer<IdentityProviders, never, Outbound> =>
    Layer.effect(IdentityProviders, makeIdentityProviders(clients))
}
