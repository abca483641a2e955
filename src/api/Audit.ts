/** `GET /v1/admin/audit`: changes of keys, users, grants and sessions, done or refused. */
import { Effect, Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { actorKinds, auditActions, auditOutcomes } from "../domain/Audit.ts"
import { AdminAuthorization } from "./Authorization.ts"
import { errors, Validation } from "./Failure.ts"
import { AnsweredMoment, Moment } from "./schemas/Moments.ts"
import { cursor, limit } from "./schemas/Paging.ts"
import { refusesUnknownQuery } from "./schemas/Strictness.ts"
import { text } from "./schemas/Texts.ts"

const described = <S extends Schema.Top>(schema: S, description: string) => schema.annotate({ description })
const nullable = Schema.NullOr(Schema.String)

export const AuditEventRecord = Schema.Struct({
  id: Schema.String,
  created_at: AnsweredMoment,
  action: described(Schema.Literals(auditActions), "What was changed, and how."),
  outcome: described(
    Schema.Literals(auditOutcomes),
    "`refused`: it was not allowed. `failed`: a store did not answer."
  ),
  actor: described(
    Schema.Literals(actorKinds),
    "Who acted. `nobody`: not signed in yet. `gateway`: outside of a request."
  ),
  actor_id: described(nullable, "The id of the user or key that acted."),
  actor_name: described(nullable, "The user's address or number, or the key's name."),
  address: described(nullable, "The network address of the caller."),
  request_id: described(nullable, "`X-Request-Id` of the request."),
  target: described(nullable, "The id of what was changed."),
  target_name: described(nullable, "The key's name, or the user's address or number."),
  details: described(Schema.Record(Schema.String, Schema.Unknown), "Facts of the action, such as `cause` or `user`."),
  count: described(Schema.Int, "The events that the row stands for. Above 1 for alike refusals in one minute.")
}).annotate({ identifier: "AuditEvent" })
export type AuditEventRecord = typeof AuditEventRecord.Type

const Word = Schema.optionalKey(text(256))
const format = Schema.Literals(["json", "csv"]).pipe(Schema.withDecodingDefaultKey(Effect.succeed("json" as const)))
const Csv = Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/csv; charset=utf-8" }))

export const RefusedAddressRecord = Schema.Struct({
  address: described(Schema.String, "The network address. `others`: beyond those that are told apart in a minute."),
  count: described(Schema.Int, "The refused credentials."),
  first_at: described(AnsweredMoment, "The minute of the first one."),
  last_at: described(AnsweredMoment, "The last one."),
  by_credential: described(
    Schema.Record(Schema.String, Schema.Int),
    "Counts by kind: `api_key`, `admin_key`, `admin_session`, `session`, `refresh_token`, `code`, `identity_provider`."
  )
}).annotate({ identifier: "RefusedAddress" })
export type RefusedAddressRecord = typeof RefusedAddressRecord.Type

export class AdminAuditGroup extends HttpApiGroup.make("adminAudit")
  .add(
    HttpApiEndpoint.get("list", "/v1/admin/audit", {
      query: {
        format,
        limit: limit(100, 20),
        cursor: cursor("aud"),
        from: Schema.optionalKey(Moment),
        to: Schema.optionalKey(Moment),
        action: described(Schema.optionalKey(Schema.Literals(auditActions)), "What was changed, and how."),
        outcome: described(Schema.optionalKey(Schema.Literals(auditOutcomes)), "How it ended."),
        actor: described(Word, "The id of a user or key, or a kind of actor such as `admin_key`."),
        target: described(Word, "An id. A user's id also finds the user's sessions."),
        address: described(Word, "A network address."),
        request_id: Word,
        q: described(Word, "An id or a network address, or a part of a key's name or a user's address.")
      },
      success: [
        Schema.Struct({
          object: Schema.Literal("list"),
          data: Schema.Array(AuditEventRecord),
          has_more: Schema.Boolean,
          next_cursor: Schema.NullOr(Schema.String)
        }).annotate({ identifier: "AuditEventList" }),
        Csv
      ],
      error: errors(500, 503)
    }).annotateMerge(
      OpenApi.annotations({ summary: "List changes of keys, users, grants and sessions, newest first" })
    ),
    HttpApiEndpoint.get("refusedCredentials", "/v1/admin/refused-credentials", {
      query: {
        limit: limit(1_000, 100),
        from: Schema.optionalKey(Moment),
        to: Schema.optionalKey(Moment),
        address: described(Word, "A network address.")
      },
      success: Schema.Struct({
        object: Schema.Literal("list"),
        data: Schema.Array(RefusedAddressRecord),
        has_more: Schema.Boolean
      }),
      error: errors(500, 503)
    }).annotateMerge(OpenApi.annotations({ summary: "Count refused credentials by network address" }))
  )
  .middleware(Validation)
  .middleware(AdminAuthorization)
  .annotateMerge(refusesUnknownQuery)
  .annotateMerge(OpenApi.annotations({ title: "Administration: audit" })) {}
