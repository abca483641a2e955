/** How a key's record lies in the table `api_keys`: a column for each member. */
import { Schema } from "effect"
import { type KeyRecord, Scope, Tier } from "../domain/Key.ts"
import { tableOf } from "./Rows.ts"

const Row = Schema.Struct({
  id: Schema.String,
  publicId: Schema.String,
  secretHash: Schema.String,
  previousSecretHash: Schema.NullOr(Schema.String),
  previousValidUntilMs: Schema.NullOr(Schema.Number),
  prefix: Schema.String,
  name: Schema.String,
  tier: Tier,
  scopes: Schema.Array(Scope),
  state: Schema.Literals(["active", "disabled", "revoked"]),
  monthlyBudgetNano: Schema.NullOr(Schema.Number),
  allowedModels: Schema.NullOr(Schema.Array(Schema.String)),
  ownerId: Schema.NullOr(Schema.String),
  createdAtMs: Schema.Number,
  updatedAtMs: Schema.Number,
  lastUsedAtMs: Schema.NullOr(Schema.Number),
  expiresAtMs: Schema.NullOr(Schema.Number),
  revokedAtMs: Schema.NullOr(Schema.Number)
})

export const keyTable = tableOf<KeyRecord>("api_keys", Row)
