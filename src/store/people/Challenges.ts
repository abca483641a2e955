/**
 * Pending sign-ins, which last a few minutes: codes that were sent, and OAuth flows that were
 * started. Each can be used once, by the first caller, and each code allows a limited number of
 * attempts.
 */
import { Context, type Effect, type Option } from "effect"
import { type Channel } from "../../domain/User.ts"
import { type StoreError } from "../StoreError.ts"

export interface CodeChallenge {
  readonly id: string
  readonly channel: Channel
  /** An e-mail address, or a phone number in E.164. */
  readonly destination: string
  readonly codeHash: string
  /** A keyed hash of the network that requested the code. */
  readonly networkHash: string
  /** Attempts that count as used from the start. */
  readonly attemptsTaken: number
  readonly createdAtMs: number
  readonly expiresAtMs: number
}

/** What is needed to finish a flow. State and browser are stored as hashes. */
export interface OAuthFlow {
  readonly stateHash: string
  readonly browserHash: string
  readonly provider: string
  readonly nonce: string
  /** The verifier of PKCE. */
  readonly verifier: string
  readonly redirectTo: string | null
  readonly expiresAtMs: number
}

export class Challenges extends Context.Service<
  Challenges,
  {
    readonly open: (challenge: CodeChallenge) => Effect.Effect<void, StoreError>
    /**
     * How many codes were made for a destination since a time: by all networks, and by this one.
     */
    readonly countSince: (
      destination: string,
      networkHash: string,
      sinceMs: number
    ) => Effect.Effect<{ readonly all: number; readonly ofNetwork: number }, StoreError>
    /**
     * Uses one attempt of a challenge. None when no attempt is left, or when the challenge is
     * absent, expired or consumed.
     */
    readonly attempt: (options: {
      readonly id: string
      readonly channel: Channel
      readonly maxAttempts: number
      readonly nowMs: number
    }) => Effect.Effect<Option.Option<Pick<CodeChallenge, "destination" | "codeHash">>, StoreError>
    /** Consumes a challenge. True when this call did so. */
    readonly consume: (id: string, nowMs: number) => Effect.Effect<boolean, StoreError>
    readonly openFlow: (flow: OAuthFlow) => Effect.Effect<void, StoreError>
    /** Removes a flow and returns it; none when it is absent or expired. */
    readonly takeFlow: (stateHash: string, nowMs: number) => Effect.Effect<Option.Option<OAuthFlow>, StoreError>
    /** Deletes codes made before a time, and flows that had expired by then. */
    readonly deleteBefore: (beforeMs: number) => Effect.Effect<void, StoreError>
  }
>()("tollgate/store/people/Challenges") {}
