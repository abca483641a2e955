/** Who a person is by an identity provider's word, what a flow is held together by, and how it fails. */
import { Data, type Redacted } from "effect"

/** Our registration at an OAuth provider. */
export interface OAuthClient {
  readonly clientId: string
  readonly clientSecret: Redacted.Redacted
  /** `null`: the provider's well-known one. For `github`: the address of a GitHub Enterprise Server. */
  readonly issuer: string | null
}

/** By the provider's name in `/auth/oauth/{provider}`. */
export type OAuthClients = Readonly<Record<string, OAuthClient>>

/** `refused`: the provider, or a check of what it said, says no. `unavailable`: it does not answer as it should. */
export class IdentityError extends Data.TaggedError("IdentityError")<{
  readonly provider: string
  readonly kind: "refused" | "unavailable"
  /** What is wrong, in a few words without anything private. */
  readonly problem: string
}> {
  override get message(): string {
    return `${this.provider} ${this.kind}: ${this.problem}`
  }
}

/** What binds an answer to its question. */
export interface FlowSecrets {
  readonly state: string
  readonly nonce: string
  /** PKCE's. */
  readonly verifier: string
}

export interface ExternalIdentity {
  /** Names the person at this provider, for good. */
  readonly subject: string
  /** Verified, as the provider writes it; `null`: there is none. */
  readonly email: string | null
}
