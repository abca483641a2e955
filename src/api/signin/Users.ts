/** Users for admins: list them, change grants and roles, suspend them. */
import { Effect, Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { allScopes, Scope, Tier } from "../../domain/Key.ts"
import { Role } from "../../domain/User.ts"
import { AdminAuthorization } from "../Authorization.ts"
import { errors, Validation } from "../Failure.ts"
import { cursor, limit } from "../schemas/Paging.ts"
import { refusesUnknownQuery } from "../schemas/Strictness.ts"
import { text } from "../schemas/Texts.ts"

const Budget = Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0), Schema.isLessThanOrEqualTo(1_000_000))
const Words = text(320)
const Status = Schema.Literals(["active", "suspended"])

export const Grants = Schema.Struct({
  tier: Tier,
  /** For all keys of the user together. Null: no cap. */
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
  keys: Schema.Int.annotate({ description: "The number of keys of the user that are not revoked." }),
  usage: Schema.Struct({
    month_spent_usd: Schema.Finite,
    month_reserved_usd: Schema.Finite,
    month_remaining_usd: Schema.NullOr(Schema.Finite),
    resets_at: Schema.String.annotate({ format: "date-time" })
  }).annotate({ description: "What all keys of the user have spent of the grant." }),
  created_at: Schema.String.annotate({ format: "date-time" }),
  updated_at: Schema.String.annotate({ format: "date-time" }),
  last_sign_in_at: Schema.NullOr(Schema.String.annotate({ format: "date-time" }))
}).annotate({ identifier: "Account" })
export type Account = typeof Account.Type

export const UpdateUserRequest = Schema.Struct({
  role: Schema.optionalKey(Role),
  /**
   * Suspension ends sessions and rejects keys, in all processes within a second. Admins cannot
   * change their own status.
   */
  status: Schema.optionalKey(Status),
  /** Keys that exceed the new grants are reduced to them. */
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

/** `admin` is the only role that can be granted by address. */
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
        search: Schema.optionalKey(Words),
        sort: Schema.Literals(["created", "name", "last_sign_in", "keys", "spent"])
          .annotate({ default: "created" })
          .pipe(Schema.withDecodingDefaultKey(Effect.succeed("created" as const))),
        order: Schema.optionalKey(Schema.Literals(["asc", "desc"])).annotate({
          description: "The direction. Default: names ascending, the others descending."
        })
      },
      success: Schema.Struct({
        object: Schema.Literal("list"),
        data: Schema.Array(Account),
        total: Schema.Int.annotate({ description: "The number of users on all pages." }),
        has_more: Schema.Boolean,
        next_cursor: Schema.NullOr(Schema.String)
      }).annotate({ identifier: "UserList" }),
      error: errors(500, 503)
    }).annotateMerge(
      OpenApi.annotations({
        summary: "List, search and sort users"
      })
    ),
    HttpApiEndpoint.get("get", "/v1/admin/users/:user_id", {
      params: { user_id: Schema.String },
      success: Account,
      error: errors(404, 500, 503)
    }).annotateMerge(OpenApi.annotations({ summary: "Read one user" })),
    HttpApiEndpoint.post("grant", "/v1/admin/users", {
      payload: GrantRoleRequest,
      success: Account,
      error: errors(500, 503)
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Make the owner of an e-mail address an admin, also before the first sign-in",
        description:
          "Creates the user at once, before any sign-in. The account belongs to the person who proves to own the address."
      })
    ),
    HttpApiEndpoint.patch("update", "/v1/admin/users/:user_id", {
      params: { user_id: Schema.String },
      payload: UpdateUserRequest,
      success: Account,
      error: errors(404, 500, 503)
    }).annotateMerge(OpenApi.annotations({ summary: "Change a user's role, status or grants" }))
  )
  .middleware(Validation)
  .middleware(AdminAuthorization)
  .annotateMerge(refusesUnknownQuery)
  .annotateMerge(OpenApi.annotations({ title: "Users" })) {}
