/**
 * Sign-in with identity providers: the OAuth authorization code flow with PKCE, nonce and state, up
 * to the person's identity. The provider's answer is verified (signature, issuer, audience, nonce,
 * times). An e-mail address counts only if the provider marks it as verified.
 */
import { Context, type Effect, Layer } from "effect"
import { type Outbound } from "../providers/transport/Outbound.ts"
import { type ExternalIdentity, type FlowSecrets, type IdentityError, type OAuthClients } from "./ExternalIdentity.ts"
import { makeIdentityProviders } from "./OAuthClients.ts"

export class IdentityProviders extends Context.Service<
  IdentityProviders,
  {
    readonly names: ReadonlyArray<string>
    /** The address to send the person to. Dies if the provider is not configured. */
    readonly authorizationUrl: (
      provider: string,
      redirectUri: string,
      secrets: FlowSecrets
    ) => Effect.Effect<string, IdentityError>
    /**
     * The identity of the person who returned. `callbackUrl`: the callback address with the
     * provider's query.
     */
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
