/** The rows of the table `api_keys`: one column per member of a key's record. */
import { Schema } from "effect"
import { type KeyRecord, Scope, Tier } from "../../domain/Key.ts"
import { KeyPrivacy } from "../../domain/Privacy.ts"
import { tableOf } from "../sql/Rows.ts"

const Row = Schema.Struct({
  id: Schema.String,
  publicId: Schema.String,
  secretHash: Schema.String,
  previousSecretHash: Schema.NullOr(Schema.String),
  previousValidUntilMs: Schema.NullOr(Schema.Finite),
  prefix: Schema.String,
  name: Schema.String,
  tier: Tier,
  scopes: Schema.Array(Scope),
  state: Schema.Literals(["active", "disabled", "revoked"]),
  monthlyBudgetNano: Schema.NullOr(Schema.Finite),
  allowedModels: Schema.NullOr(Schema.Array(Schema.String)),
  privacy: Schema.NullOr(KeyPrivacy),
  ownerId: Schema.NullOr(Schema.String),
  createdAtMs: Schema.Finite,
  updatedAtMs: Schema.Finite,
  lastUsedAtMs: Schema.NullOr(Schema.Finite),
  expiresAtMs: Schema.NullOr(Schema.Finite),
  revokedAtMs: Schema.NullOr(Schema.Finite)
})

export const keyTable = tableOf<KeyRecord>("api_keys", Row)
