/**
 * Identities from OAuth providers: the client registration, the secrets of a flow, the resulting
 * identity, and the failure.
 */
import { Data, type Redacted } from "effect"

/** The gateway's registration at an OAuth provider. */
export interface OAuthClient {
  readonly clientId: string
  readonly clientSecret: Redacted.Redacted
  /**
   * `null`: the provider's well-known address. For `github`: the address of a GitHub Enterprise
   * Server.
   */
  readonly issuer: string | null
}

/** By the provider's name in `/auth/oauth/{provider}`. */
export type OAuthClients = Readonly<Record<string, OAuthClient>>

/**
 * `refused`: the provider refused, or its answer failed a check. `unavailable`: it did not answer
 * properly.
 */
export class IdentityError extends Data.TaggedError("IdentityError")<{
  readonly provider: string
  readonly kind: "refused" | "unavailable"
  /** A short description without private data. */
  readonly problem: string
}> {
  override get message(): string {
    return `${this.provider} ${this.kind}: ${this.problem}`
  }
}

/** Secrets that bind an answer to its request. */
export interface FlowSecrets {
  readonly state: string
  readonly nonce: string
  /** The PKCE verifier. */
  readonly verifier: string
}

export interface ExternalIdentity {
  /** Permanent id of the person at this provider. */
  readonly subject: string
  /** The verified address as the provider writes it; `null`: none. */
  readonly email: string | null
}
