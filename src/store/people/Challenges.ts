/**
 * What is under way for a few minutes while somebody signs in: codes that were sent, and OAuth flows that were begun. Each can be used
 * once, by whoever comes first, and a code can be tried a few times only.
 */
import { Context, type Effect, Layer, type Option } from "effect"
import { type Channel } from "../../domain/User.ts"
import { makeChallengesMemory } from "./ChallengesMemory.ts"
import { makeChallengesSql } from "./ChallengesSql.ts"
import { type StoreError } from "../StoreError.ts"

export interface CodeChallenge {
  readonly id: string
  readonly channel: Channel
  /** An address, or a number in E.164. */
  readonly destination: string
  readonly codeHash: string
  /** A keyed hash of the network that asked for it. */
  readonly networkHash: string
  /** How many attempts it is short of, from the beginning. */
  readonly attemptsTaken: number
  readonly createdAtMs: number
  readonly expiresAtMs: number
}

/** What a flow has to be finished with. State and browser are known by their hashes. */
export interface OAuthFlow {
  readonly stateHash: string
  readonly browserHash: string
  readonly provider: string
  readonly nonce: string
  /** PKCE's. */
  readonly verifier: string
  readonly redirectTo: string | null
  readonly expiresAtMs: number
}

export class Challenges extends Context.Service<
  Challenges,
  {
    readonly open: (challenge: CodeChallenge) => Effect.Effect<void, StoreError>
    /** How many codes were made for a destination since a moment: by everybody, and by one network. */
    readonly countSince: (
      destination: string,
      networkHash: string,
      sinceMs: number
    ) => Effect.Effect<{ readonly all: number; readonly ofNetwork: number }, StoreError>
    /** Takes one of a challenge's attempts. None when there is none left, or no such challenge, or it is over or used. */
    readonly attempt: (options: {
      readonly id: string
      readonly channel: Channel
      readonly maxAttempts: number
      readonly nowMs: number
    }) => Effect.Effect<Option.Option<Pick<CodeChallenge, "destination" | "codeHash">>, StoreError>
    /** Uses a challenge up; whether it was this call that did. */
    readonly consume: (id: string, nowMs: number) => Effect.Effect<boolean, StoreError>
    readonly openFlow: (flow: OAuthFlow) => Effect.Effect<void, StoreError>
    /** The flow, and it is gone; none when it is over. */
    readonly takeFlow: (stateHash: string, nowMs: number) => Effect.Effect<Option.Option<OAuthFlow>, StoreError>
    /** Forgets codes made before a moment, and flows that were over by then. */
    readonly forget: (beforeMs: number) => Effect.Effect<void, StoreError>
  }
>()("tollgate/store/people/Challenges") {
  static readonly layer = Layer.effect(Challenges, makeChallengesSql)

  /** Each build starts empty. */
  static readonly layerMemory = Layer.sync(Challenges, makeChallengesMemory)
}
