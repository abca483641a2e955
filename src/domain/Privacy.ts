/** What the privacy guard looks for, as data. */
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

/** An operator's own pattern, in RE2's syntax. `name` is lower-case letters, digits and `_`, and no built-in entity's. */
export interface OwnPattern {
  readonly name: string
  readonly pattern: string
}
