/**
 * All requests, newest first: generations and refusals in one list. An admin reads those of all
 * keys, a user those of the user's keys.
 */
import { Effect, Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { AdminAuthorization, SessionAuthorization } from "./Authorization.ts"
import { errors, Validation } from "./Failure.ts"
import { Moment } from "./schemas/Moments.ts"
import { cursor, integer, limit } from "./schemas/Paging.ts"
import { refusesUnknownQuery } from "./schemas/Strictness.ts"
import { text } from "./schemas/Texts.ts"

const described = <S extends Schema.Top>(schema: S, description: string) => schema.annotate({ description })

export const RequestRow = Schema.Struct({
  object: Schema.Literals(["generation", "refusal"]),
  id: Schema.String,
  request_id: described(Schema.NullOr(Schema.String), "`X-Request-Id`. Null: recorded by an earlier version."),
  created_at: Schema.String.annotate({ format: "date-time" }),
  endpoint: described(Schema.NullOr(Schema.String), "Method and path. Null: there is no such path."),
  status: described(Schema.NullOr(Schema.Int), "The status that was sent. 499: the client left before."),
  end: Schema.Literals(["succeeded", "failed", "cancelled", "refused"]),
  error_type: Schema.NullOr(Schema.String),
  error_code: described(Schema.NullOr(Schema.String), "Of a refusal."),
  error_message: described(
    Schema.NullOr(Schema.String),
    "Of a refusal: the gateway's words, with a placeholder for texts of the client."
  ),
  count: described(Schema.Int, "The requests that the row stands for. Above 1 for alike refusals in one minute."),
  key_id: Schema.NullOr(Schema.String),
  key_name: Schema.NullOr(Schema.String),
  owner: Schema.NullOr(Schema.String),
  owner_name: described(Schema.NullOr(Schema.String), "The owner's address or number."),
  model: Schema.NullOr(Schema.String),
  provider: described(Schema.NullOr(Schema.String), "The provider that was called last."),
  attempts: Schema.Int,
  fallback_used: Schema.Boolean,
  cache_hit: Schema.Boolean,
  streamed: Schema.NullOr(Schema.Boolean),
  latency_ms: Schema.NullOr(Schema.Finite),
  time_to_first_token_ms: Schema.NullOr(Schema.Finite),
  prompt_tokens: Schema.Int,
  completion_tokens: Schema.Int,
  billed_usd: Schema.Finite
}).annotate({ identifier: "RequestRow" })
export type RequestRow = typeof RequestRow.Type

export const RequestList = Schema.Struct({
  object: Schema.Literal("list"),
  data: Schema.Array(RequestRow),
  has_more: Schema.Boolean,
  next_cursor: Schema.NullOr(Schema.String)
}).annotate({ identifier: "RequestList" })

const Word = text(256)
const yes = Schema.optionalKey(Schema.Literal("true"))

/** As CSV the list has every row that matches, and `limit` and `cursor` do not count. */
const format = Schema.Literals(["json", "csv"]).pipe(Schema.withDecodingDefaultKey(Effect.succeed("json" as const)))
const Csv = Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/csv; charset=utf-8" }))

const page = {
  format,
  limit: limit(100, 20),
  cursor: cursor("(gen|ref)"),
  from: Schema.optionalKey(Moment),
  to: Schema.optionalKey(Moment),
  key: Schema.optionalKey(Word),
  model: Schema.optionalKey(Word),
  status: Schema.optionalKey(integer(100, 599)),
  type: Schema.optionalKey(Word).annotate({ description: "The type of the error." }),
  end: Schema.optionalKey(Schema.Literals(["succeeded", "failed", "cancelled", "refused"])),
  request_id: Schema.optionalKey(Word),
  generation_id: Schema.optionalKey(Word),
  provider: Schema.optionalKey(Word).annotate({
    description: "A provider that was called, whether it answered or not."
  }),
  fallback: yes,
  cache_hit: yes,
  q: Schema.optionalKey(Word).annotate({
    description: "An id, or a part of a model's id, a key's name or a user's address."
  }),
  sort: Schema.Literals(["newest", "cost", "latency"])
    .pipe(Schema.withDecodingDefaultKey(Effect.succeed("newest" as const)))
    .annotate({
      description:
        "`cost`: the dearest first, `latency`: the slowest first, both among the newest 5,000 generations that match, and 1,000 with `q`. These have no refusals and no further page."
    })
}

export class AdminRequestsGroup extends HttpApiGroup.make("adminRequests")
  .add(
    HttpApiEndpoint.get("list", "/v1/admin/requests", {
      query: { ...page, user: Schema.optionalKey(Word) },
      success: [RequestList, Csv],
      error: errors(500, 503)
    }).annotateMerge(OpenApi.annotations({ summary: "List everyone's requests, refused ones too, newest first" }))
  )
  .middleware(Validation)
  .middleware(AdminAuthorization)
  .annotateMerge(refusesUnknownQuery)
  .annotateMerge(OpenApi.annotations({ title: "Administration: requests" })) {}

export class OwnedRequestsGroup extends HttpApiGroup.make("ownedRequests")
  .add(
    HttpApiEndpoint.get("list", "/v1/portal/requests", {
      query: page,
      success: [RequestList, Csv],
      error: errors(500, 503)
    }).annotateMerge(OpenApi.annotations({ summary: "List the requests of your keys, refused ones too, newest first" }))
  )
  .middleware(Validation)
  .middleware(SessionAuthorization)
  .annotateMerge(refusesUnknownQuery)
  .annotateMerge(OpenApi.annotations({ title: "Portal: requests" })) {}
