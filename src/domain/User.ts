/**
 * People who sign in: who they are to the gateway, what an admin lets them have, and the identities that lead to them. Addresses and
 * numbers in here were proved by their owner, or vouched for by an identity provider or an admin; nothing unproved is kept.
 */
import { Schema } from "effect"
import { type Scope, type Tier } from "./Key.ts"
import { type NanoUsd } from "./Money.ts"

export const Channel = Schema.Literals(["email", "sms"]).annotate({ identifier: "SignInChannel" })
/** How a code reaches a person. */
export type Channel = typeof Channel.Type

export const Role = Schema.Literals(["user", "admin"]).annotate({ identifier: "UserRole" })
export type Role = typeof Role.Type

/** The most that the keys of a user may have. */
export interface Grants {
  readonly tier: Tier
  /** For all keys of the user together, each UTC month; `null`: no cap. */
  readonly monthlyBudgetNano: NanoUsd | null
  readonly scopes: ReadonlyArray<Scope>
}

export interface UserRecord {
  readonly id: string
  /** In lower case; unique. */
  readonly email: string | null
  /** E.164; unique. */
  readonly phone: string | null
  readonly role: Role
  /** Suspended: no session, and no key of the user's opens anything. */
  readonly state: "active" | "suspended"
  readonly grants: Grants
  readonly createdAtMs: number
  readonly updatedAtMs: number
  /** `null`: never, as with an admin who was named before the first sign-in. */
  readonly lastSignInAtMs: number | null
}

/** One way into an account. */
export interface Identity {
  /** `email`, `sms`, or the name of an identity provider. */
  readonly provider: string
  /** What the provider calls the person: the address, the number, or an opaque name. */
  readonly subject: string
  /** As the identity provider told it when the identity was first seen; `null`: it did not. */
  readonly email: string | null
  readonly createdAtMs: number
}

/** One sign-in and all refresh tokens that came of it. */
export interface SessionRecord {
  readonly id: string
  readonly userId: string
  /** The identity's provider. */
  readonly signedInBy: string
  /** What the client called itself, at most 200 characters. */
  readonly userAgent: string | null
  readonly createdAtMs: number
  readonly lastUsedAtMs: number
  readonly expiresAtMs: number
  readonly revokedAtMs: number | null
}
