/**
 * The entities that the privacy guard finds, and its modes. The modes are ordered by strictness.
 * The stricter of the deployment's and the key's mode holds.
 */
import { Schema } from "effect"

/** The built-in entities. Operators can add patterns under other names. */
export const Entity = Schema.Literals([
  "email",
  "phone",
  "credit_card",
  "iban",
  "us_ssn",
  "ip_address",
  "secret"
]).annotate({ identifier: "PrivacyEntity" })
export type Entity = typeof Entity.Type
export const allEntities: ReadonlyArray<Entity> = Entity.literals

/**
 * `mask`: values are replaced in the request and restored in the reply. `block`: a request with
 * such a value is rejected.
 */
export const PrivacyMode = Schema.Literals(["off", "mask", "block"])
export type PrivacyMode = typeof PrivacyMode.Type

/** Modes that a key can set. */
export const KeyPrivacy = Schema.Literals(["mask", "block"]).annotate({ identifier: "KeyPrivacy" })
export type KeyPrivacy = typeof KeyPrivacy.Type

/**
 * An operator's pattern, in RE2 syntax. `name`: lower-case letters, digits and `_`, and not a
 * built-in entity.
 */
export interface OwnPattern {
  readonly name: string
  readonly pattern: string
}

export interface PrivacyRules {
  readonly mode: PrivacyMode
  readonly entities: ReadonlyArray<Entity>
  readonly patterns: ReadonlyArray<OwnPattern>
}

const strictness = { off: 0, mask: 1, block: 2 } as const satisfies Record<PrivacyMode, number>

export const stricter = (deployment: PrivacyMode, key: KeyPrivacy | null): PrivacyMode =>
  key !== null && strictness[key] > strictness[deployment] ? key : deployment
