/**
 * Users: the people who sign in, the grants that an admin gave them, and their identities. E-mail
 * addresses and phone numbers were proved by their owner, or confirmed by an identity provider or
 * an admin. Unproved ones are not stored.
 */
import { Schema } from "effect"
import { type Scope, type Tier } from "./Key.ts"
import { type NanoUsd } from "./pricing/Money.ts"

export const Channel = Schema.Literals(["email", "sms"]).annotate({ identifier: "SignInChannel" })
/** How a code is delivered. */
export type Channel = typeof Channel.Type

export const Role = Schema.Literals(["user", "admin"]).annotate({ identifier: "UserRole" })
export type Role = typeof Role.Type

/** Upper limits for the keys of a user. */
export interface Grants {
  readonly tier: Tier
  /** For all keys of the user together, per UTC month; `null`: no cap. */
  readonly monthlyBudgetNano: NanoUsd | null
  readonly scopes: ReadonlyArray<Scope>
}

export interface UserRecord {
  readonly id: string
  /** In lower case, unique. */
  readonly email: string | null
  /** E.164, unique. */
  readonly phone: string | null
  readonly role: Role
  /** `suspended`: sessions end and the user's keys are rejected. */
  readonly state: "active" | "suspended"
  readonly grants: Grants
  readonly createdAtMs: number
  readonly updatedAtMs: number
  /** `null`: never, such as an admin who was named before the first sign-in. */
  readonly lastSignInAtMs: number | null
}

/** One way to sign in to an account. */
export interface Identity {
  /** `email`, `sms`, or the name of an identity provider. */
  readonly provider: string
  /** The provider's name for the person: address, number or opaque id. */
  readonly subject: string
  /** The address that the identity provider reported when the identity was first seen, or null. */
  readonly email: string | null
  readonly createdAtMs: number
}

/** One sign-in, and all refresh tokens derived from it. */
export interface SessionRecord {
  readonly id: string
  readonly userId: string
  /** The identity's provider. */
  readonly signedInBy: string
  /** The client's user agent, at most 200 characters. */
  readonly userAgent: string | null
  readonly createdAtMs: number
  readonly lastUsedAtMs: number
  readonly expiresAtMs: number
  readonly revokedAtMs: number | null
}
