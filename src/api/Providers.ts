/**
 * `GET /v1/admin/providers`: how each provider and its models do, now and in the last 24 hours.
 * `GET /v1/admin/providers/{slug}` adds the history of its circuits.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { AdminAuthorization } from "./Authorization.ts"
import { errors, Validation } from "./Failure.ts"
import { DataPolicy, TieredPrices } from "./Models.ts"
import { AnsweredMoment } from "./schemas/Moments.ts"
import { refusesUnknownQuery } from "./schemas/Strictness.ts"

const described = <S extends Schema.Top>(schema: S, description: string) => schema.annotate({ description })
const moment = (description: string) => described(AnsweredMoment, `${description}, in RFC 3339 and UTC.`)
const momentOrNull = (description: string) => described(Schema.NullOr(AnsweredMoment), description)
const count = (description: string) => described(Schema.Int, description)

const failure = {
  type: described(
    Schema.String,
    "The error type of the call, such as `credentials_refused`, `rate_limited`, `server_error`, `timeout` or `unreachable`."
  ),
  status: described(Schema.NullOr(Schema.Int), "The provider's HTTP status. Null: there was no answer.")
}
const words = described(
  Schema.NullOr(Schema.String),
  "The provider's words without secrets and without the prompt, at most 300 characters. Null: it said nothing."
)
const Cause = Schema.Struct({ ...failure, message: words })
const Failed = Schema.Struct({ ...failure, message: words, at: moment("When the call began") })

const Times = (what: string) =>
  described(
    Schema.NullOr(
      Schema.Struct({
        p50: described(Schema.Finite, "The median."),
        p95: described(Schema.Finite, "95 % took at most as long.")
      })
    ),
    `${what}, in milliseconds, to 3 %. Null: there is none.`
  )

const calls = {
  calls: count("Number of calls in the 24 hours, retries included. Calls that the client broke off do not count."),
  failed: count("Number of them that failed. A request that the provider rejects is an answer."),
  uptime: described(
    Schema.NullOr(Schema.Finite),
    "Share of the calls that were answered, 0 to 1. Null: there was none."
  )
}

const circuit = {
  state: described(
    Schema.Literals(["closed", "open", "half_open"]),
    "`open`: it gets no calls for a while. `half_open`: some calls are tried. Of a provider: the worst of its models."
  ),
  since: momentOrNull("Since when it is in this state, by the history. Null: the history has no change."),
  why: described(Schema.NullOr(Cause), "The failure that opened it. Null: it is closed."),
  opened_24h: count("How often it opened in outages that began in the last 24 hours."),
  retry_at: momentOrNull("When an open circuit is tried again.")
}

const sums = {
  ...calls,
  errors: described(
    Schema.Array(Schema.Struct({ ...failure, count: count("Number of calls.") })),
    "The failed calls by type and status, most frequent first."
  ),
  last_failure: described(Schema.NullOr(Failed), "The last failed call of the 24 hours.")
}

const ModelAtProvider = Schema.Struct({
  id: described(Schema.String, "The model's id."),
  upstream: described(Schema.String, "The provider's name of the model."),
  embeddings: described(Schema.Boolean, "Whether it makes embeddings."),
  context_length: described(Schema.NullOr(Schema.Int), "The longest prompt and completion together, in tokens."),
  max_completion_tokens: described(Schema.NullOr(Schema.Int), "The longest completion, in tokens."),
  pricing: described(TieredPrices, "Prices in USD per token, as decimal strings."),
  ...circuit,
  ...sums,
  latency_ms: Times("Times of whole answers, of streams to their end"),
  time_to_first_token_ms: Times("Times of streams to their first token")
})

const provider = {
  slug: described(Schema.String, "The provider's name in the settings and in requests."),
  name: described(Schema.String, "The name for people."),
  dialect: described(Schema.String, "The API that it is called by."),
  address: described(Schema.NullOr(Schema.String), "The host that is called. Null: none."),
  status: described(
    Schema.Literals(["ok", "degraded", "down"]),
    "`degraded`: some models get no calls. `down`: none gets any."
  ),
  ...circuit,
  ...sums,
  hours: described(
    Schema.Array(Schema.Struct({ start: moment("The first instant of the hour"), ...calls })),
    "The last 24 hours, oldest first and without gaps. The last one is still running."
  ),
  data_policy: described(DataPolicy, "What the provider does with prompts."),
  models: described(Schema.Array(ModelAtProvider), "Its models, in the order of the settings.")
}

export const ProviderRecord = Schema.Struct(provider).annotate({ identifier: "ProviderRecord" })
export type ProviderRecord = typeof ProviderRecord.Type

const OutageRecord = Schema.Struct({
  id: described(Schema.String, "Such as `out_…`."),
  model: described(Schema.NullOr(Schema.String), "The model's id. Null: every model of the provider."),
  opened_at: moment("When the circuit opened first"),
  closed_at: momentOrNull("When it closed. Null: it is open."),
  closed_by: described(
    Schema.NullOr(Schema.Literals(["answer", "restart"])),
    "`answer`: the provider answered. `restart`: the gateway started anew and calls it again."
  ),
  openings: count("How often the circuit opened in this outage."),
  why: described(Schema.NullOr(Cause), "The failure that opened it last."),
  process: described(Schema.String, "The process that opened it last: host and process id.")
}).annotate({ identifier: "OutageRecord" })
export type OutageRecord = typeof OutageRecord.Type

export const ProviderDetails = Schema.Struct({
  ...provider,
  outages: described(Schema.Array(OutageRecord), "The newest 200 outages of its circuits of the last 30 days.")
}).annotate({ identifier: "ProviderDetails" })
export type ProviderDetails = typeof ProviderDetails.Type

export class AdminProvidersGroup extends HttpApiGroup.make("adminProviders")
  .add(
    HttpApiEndpoint.get("list", "/v1/admin/providers", {
      success: Schema.Struct({
        object: described(Schema.Literal("list"), "Always `list`."),
        data: described(Schema.Array(ProviderRecord), "The providers, in the order of the settings.")
      }),
      error: errors(500, 503)
    }).annotateMerge(OpenApi.annotations({ summary: "How each provider and its models do" })),
    HttpApiEndpoint.get("get", "/v1/admin/providers/:slug", {
      params: { slug: Schema.String.annotate({ description: "The provider's slug." }) },
      success: ProviderDetails,
      error: errors(404, 500, 503)
    }).annotateMerge(OpenApi.annotations({ summary: "How one provider does, with the history of its circuits" }))
  )
  .middleware(Validation)
  .middleware(AdminAuthorization)
  .annotateMerge(refusesUnknownQuery)
  .annotateMerge(OpenApi.annotations({ title: "Administration: providers" })) {}
