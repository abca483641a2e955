/** Users as an admin sees them: who there is, what each may have, and who is suspended. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { allScopes, Scope, Tier } from "../domain/Key.ts"
import { Role } from "../domain/User.ts"
import { AdminAuthorization } from "./Authorization.ts"
import { errors, Validation } from "./Failure.ts"
import { cursor, limit } from "./Paging.ts"
import { refusesUnknownQuery } from "./Strictness.ts"
import { text } from "./Texts.ts"

const Budget = Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0), Schema.isLessThanOrEqualTo(1_000_000))
const Words = text(320)
const Status = Schema.Literals(["active", "suspended"])

export const Grants = Schema.Struct({
  tier: Tier,
  /** For all keys of the user together; null: no cap. */
  monthly_budget_usd: Schema.NullOr(Schema.Finite),
  scopes: Schema.Array(Scope)
}).annotate({ identifier: "Grants" })

export const Account = Schema.Struct({
  object: Schema.Literal("user"),
  id: Schema.String,
  email: Schema.NullOr(Schema.String),
  phone: Schema.NullOr(Schema.String),
  role: Role,
  status: Status,
  grants: Grants,
  created_at: Schema.String.annotate({ format: "date-time" }),
  updated_at: Schema.String.annotate({ format: "date-time" }),
  last_sign_in_at: Schema.NullOr(Schema.String.annotate({ format: "date-time" }))
}).annotate({ identifier: "Account" })
export type Account = typeof Account.Type

export const UpdateUserRequest = Schema.Struct({
  role: Schema.optionalKey(Role),
  /** Suspended: sessions end and keys stop, everywhere within a second. Nobody changes their own. */
  status: Schema.optionalKey(Status),
  /** Keys that have more than this afterwards are cut down to it. */
  grants: Schema.optionalKey(
    Schema.Struct({
      tier: Schema.optionalKey(Tier),
      monthly_budget_usd: Schema.optionalKey(Schema.NullOr(Budget)),
      scopes: Schema.optionalKey(Schema.Array(Scope).check(Schema.isMaxLength(allScopes.length)))
    }).check(Schema.isMinProperties(1))
  )
})
  .check(Schema.isMinProperties(1))
  .annotate({ identifier: "UpdateUserRequest" })

/** `role`: an admin is all that one can be made by an address. */
export const GrantRoleRequest = Schema.Struct({ email: Words, role: Schema.Literals(["admin"]) }).annotate({
  identifier: "GrantRoleRequest"
})

export class UsersGroup extends HttpApiGroup.make("users")
  .add(
    HttpApiEndpoint.get("list", "/v1/admin/users", {
      query: {
        limit: limit(1_000, 100),
        cursor: cursor("usr"),
        email: Schema.optionalKey(Words),
        /** A part of the address or of the number, or the id. */
        search: Schema.optionalKey(Words)
      },
      success: Schema.Struct({
        object: Schema.Literal("list"),
        data: Schema.Array(Account),
        has_more: Schema.Boolean,
        next_cursor: Schema.NullOr(Schema.String)
      }),
      error: errors(500, 503)
    }).annotateMerge(
      OpenApi.annotations({
        title: "List users, newest first: all, those that a search finds, or the one with an address"
      })
    ),
    HttpApiEndpoint.post("grant", "/v1/admin/users", {
      payload: GrantRoleRequest,
      success: Account,
      error: errors(500, 503)
    }).annotateMerge(
      OpenApi.annotations({
        title: "Make whoever has an address an admin, also somebody who has never signed in",
        description:
          "Makes the user at once, before any sign-in. The account belongs to the person who proves the address."
      })
    ),
    HttpApiEndpoint.patch("update", "/v1/admin/users/:user_id", {
      params: { user_id: Schema.String },
      payload: UpdateUserRequest,
      success: Account,
      error: errors(404, 500, 503)
    }).annotateMerge(OpenApi.annotations({ title: "Change a user's role, status or grants" }))
  )
  .middleware(Validation)
  .middleware(AdminAuthorization)
  .annotateMerge(refusesUnknownQuery)
  .annotateMerge(OpenApi.annotations({ title: "Users" })) {}
