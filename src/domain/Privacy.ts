/**
 * What the privacy guard looks for and what it does about it, as data. The three modes are ordered by strictness: a deployment has one,
 * a key may have a stricter one, and the stricter of the two holds.
 */
import { Schema } from "effect"

/** The built-in entities. An operator's own patterns stand beside them under names of their own. */
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

/** `mask`: values are replaced on their way out and restored in the reply. `block`: a request that holds any is refused. */
export const PrivacyMode = Schema.Literals(["off", "mask", "block"])
export type PrivacyMode = typeof PrivacyMode.Type

/** What a key may ask for beyond its deployment. */
export const KeyPrivacy = Schema.Literals(["mask", "block"]).annotate({ identifier: "KeyPrivacy" })
export type KeyPrivacy = typeof KeyPrivacy.Type

/** An operator's own pattern, in RE2's syntax. `name` is lower-case letters, digits and `_`, and no built-in entity's. */
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
