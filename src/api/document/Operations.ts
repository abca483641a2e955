/**
 * What each operation does and answers, for the OpenAPI document, by the operation's id. An
 * endpoint with a description of its own keeps it.
 */
import { providerOperations } from "./ProviderOperations.ts"

export interface OperationWords {
  readonly does: string
  /** Describes the successful response. */
  readonly answers: string
}

const words = (does: string, answers: string): OperationWords => ({ does, answers })
const list = "Entries are newest first. Pass `next_cursor` as `cursor` to read on."

export const operationWords: Readonly<Record<string, OperationWords>> = {
  "chat.complete": words("Answers a conversation.", "The completion; with `stream: true` an event stream of chunks."),
  "messages.create": words("Answers a conversation.", "The message; with `stream: true` an event stream."),
  "responses.create": words("Answers a conversation.", "The response; with `stream: true` an event stream."),
  "messages.countTokens": words("Counts the tokens of a request.", "The number of tokens."),
  "storedResponses.retrieve": words("Reads a stored response.", "The response."),
  "storedResponses.remove": words("Deletes a stored response.", "It is deleted."),
  "storedResponses.inputItems": words("Lists the items that a stored response answered.", "A page of items."),
  "adminRequests.list": words(
    `Lists the requests of all keys: generations, and requests that were refused before one began. ${list}`,
    "A page of requests; with `format=csv` all that match, one a line."
  ),
  "adminAudit.list": words(
    `Lists changes of keys, users, grants and sessions, done or refused: who, what, when and from where. ${list}`,
    "A page of events; with `format=csv` all that match, one a line."
  ),
  "adminAudit.refusedCredentials": words(
    "Counts refused keys, tokens and codes of the last 30 days by network address, the last one seen first.",
    "The addresses."
  ),
  "ownedRequests.list": words(
    `Lists the requests of the user's keys: generations, and requests that were refused before one began. ${list}`,
    "A page of requests; with `format=csv` all that match, one a line."
  ),
  "embeddings.embed": words(
    "Makes a vector of each input, in the order of the inputs. The vectors come in the encoding that was asked for, whatever the provider sends.",
    "The vectors."
  ),
  "route.preview": words("Ranks the providers.", "The candidates, the excluded offers and the expected costs."),
  "models.list": words(
    "Lists the models that the key may use, with prices and data policies of their providers. All of them are on one page.",
    "The models."
  ),
  "models.retrieve": words("Reads one model.", "The model."),
  "models.retrieveByAuthor": words("Reads one model by both halves of its id.", "The model."),
  "generations.get": words(
    "Reads a generation of the key, with its receipt: attempts, prices, bill and reservation. A running one is a 409.",
    "The generation."
  ),
  "generations.list": words(`Lists the generations of the key. ${list}`, "A page of generations."),
  "usage.read": words(
    "Sums up the key's requests by day, model or key. Without `from` and `to`: this UTC month.",
    "The sums; with `format=csv` a line for each row."
  ),
  "keys.create": words(
    "Issues a key. Without `monthly_budget_usd` the tier's default budget holds; null means none.",
    "The key with its secret."
  ),
  "keys.list": words(
    "Lists the keys that match, newest first or in the order of `sort`. Pass `next_cursor` as `cursor` to read on.",
    "A page of keys."
  ),
  "keys.bulk": words(
    "Sets the status of several keys in one step, and tells for each id what became of it. Ids without a key, and revoked keys, do not stop the others. If the database does not answer, no key is changed.",
    "What became of each key."
  ),
  "keys.get": words("Reads a key, with what is spent and left of its budget.", "The key."),
  "keys.update": words("Changes the members that are sent and keeps the others.", "The changed key."),
  "keys.revoke": words("Revokes a key. It cannot be used again; its record stays.", "The revoked key."),
  "keys.rotate": words(
    "Gives a key a new secret. The old one stays valid for `grace_seconds`.",
    "The key with its new secret."
  ),
  "ownKey.get": words("Reads the key that the request was sent with.", "The key."),
  "privacy.preview": words("Masks a text or messages.", "The masked form, and what was found where."),
  "admin.overview": words("Reads figures of requests, spending, cache, keys and providers.", "The figures."),
  "series.read": words("Reads the figures of the charts. Buckets without requests have zeros.", "The buckets."),
  "adminGenerations.get": words("Reads any generation, with its key and owner.", "The generation."),
  "adminGenerations.list": words(`Lists the generations of all keys. ${list}`, "A page of generations."),
  "adminUsage.read": words(
    "Sums up the requests of all keys by day, model, key, owner or provider. Without `from` and `to`: this UTC month. JSON has at most 1,000 rows, CSV 50,000.",
    "The sums; with `format=csv` a line for each row."
  ),
  "ownedGenerations.get": words("Reads a generation of one of the user's keys.", "The generation."),
  "ownedGenerations.list": words(`Lists the generations of the user's keys. ${list}`, "A page of generations."),
  "adminModels.list": words("Lists every model of every provider, whatever keys may use.", "The models."),
  "adminSettings.read": words(
    "Reads the settings in force, under the names and in the units of the settings file, and where each was set.",
    "The settings."
  ),
  "adminSettings.reload": words(
    "Reads the settings file again, as SIGHUP does. A faulty file changes nothing.",
    "What changed, what needs a restart, or every fault."
  ),
  "ownedModels.list": words(
    "Lists all models with prices, context and data policies, and the aliases. Which of them a key may use is the key's whitelist.",
    "The models."
  ),
  "adminProviders.list": words(
    "Shows how each provider and its models do: state, calls, failures and times of the last 24 hours.",
    "The providers."
  ),
  "adminProviders.get": words(
    "Shows how one provider does, and when its circuits opened and closed.",
    "The provider, with its outages."
  ),
  ...providerOperations,
  "adminWebhooks.list": words(
    "Lists the webhooks of the settings, and former ones with deliveries, with what waits and what failed.",
    "The webhooks."
  ),
  "adminWebhooks.deliveries": words(
    `Lists the deliveries that wait, and those of the last day that ended. ${list}`,
    "A page of deliveries."
  ),
  "adminWebhooks.retry": words(
    "Queues an event again, signed anew and under its own event id. A repeated call has no effect until it fails again.",
    "The event."
  ),
  "adminWebhooks.retryAll": words(
    "Queues the newest thousand undelivered events again, of one address or of all.",
    "How many were queued."
  ),
  "adminWebhooks.deadLetters": words(`Lists the events that no webhook accepted. ${list}`, "A page of events."),
  "auth.start": words(
    "Sends a code by e-mail or SMS. `email` or `phone` is required, by the channel. The answer does not tell whether the account exists.",
    "The sign-in that the code belongs to."
  ),
  "auth.verify": words("Exchanges a code for tokens. Five wrong codes end the sign-in.", "The tokens and the user."),
  "auth.refresh": words(
    "Exchanges a refresh token for new tokens. A refresh token can be used once; using it again ends the session.",
    "The tokens and the user."
  ),
  "auth.logout": words("Ends the session of a refresh token. An unknown token is not an error.", "It is done."),
  "auth.authorize": words(
    "Begins a sign-in at an identity provider. `GET /auth/methods` lists the providers of this gateway; another name is a 422.",
    "The address of the identity provider, with `Accept: application/json`."
  ),
  "auth.callback": words(
    "The identity provider sends the browser here, with `code` and `state`, or with `error`.",
    "The tokens and the user, where no `redirect_to` was given."
  ),
  "auth.mailbox": words(
    "Lists codes that were not sent because no mail or SMS is set up. Only in development and only from this machine.",
    "The codes, newest first."
  ),
  "auth.consoleLink": words(
    "Exchanges the token of the link that a start on a terminal prints. It works once, for ten minutes, only in development and only from this machine.",
    "The admin key, with which the console signs in."
  ),
  "auth.keySet": words("Reads the public keys that access tokens are verified with.", "The keys."),
  "signInMethods.read": words("Lists the ways to sign in, for sign-in pages. Public.", "The methods."),
  "me.read": words("Reads the user of the access token.", "The user."),
  "me.sessions": words("Lists the user's sessions, newest first.", "The sessions."),
  "me.revoke": words("Ends one of the user's sessions. Its access token is refused within a second.", "It is done."),
  "portal.list": words(
    "Lists the user's keys that match, newest first or in the order of `sort`. Pass `next_cursor` as `cursor` to read on.",
    "A page of keys."
  ),
  "portal.get": words("Reads one of the user's keys, with what is spent and left of its budget.", "The key."),
  "portal.create": words(
    "Makes a key within the user's grants. Absent members default to the grants.",
    "The key with its secret."
  ),
  "portal.update": words("Changes one of the user's keys, within the grants.", "The changed key."),
  "portal.revoke": words("Revokes one of the user's keys. It cannot be used again.", "The revoked key."),
  "portal.rotate": words(
    "Gives one of the user's keys a new secret. The old one stays valid for `grace_seconds`.",
    "The key with its new secret."
  ),
  "portal.grants": words("Reads what an admin granted to the user.", "The grants."),
  "portal.usage": words("Sums up the requests of the user's keys. Default: this UTC month.", "The sums."),
  "users.list": words(
    "Lists the users that match, newest first or in the order of `sort`. Pass `next_cursor` as `cursor` to read on.",
    "A page of users."
  ),
  "users.get": words("Reads a user, with what the user's keys have spent of the grant.", "The user."),
  "users.grant": words("Makes a user an admin.", "The user."),
  "users.update": words("Changes the members that are sent and keeps the others.", "The changed user."),
  "metrics.read": words("Reads counters and gauges of this process.", "Metrics, one a line."),
  "health.report": words(
    "Reports the gateway, its dependencies and its providers. Public.",
    "The gateway serves requests, perhaps degraded."
  ),
  "health.live": words("Answers as long as the process runs. Public.", "The process runs."),
  "health.ready": words(
    "Tells a load balancer whether to send requests: the database accepts writes, the limit store answers, and no shutdown has begun. Public.",
    "The gateway takes requests."
  )
}

/** Describes the responses of an error, by status. */
export const statusWords: Readonly<Record<string, string>> = {
  "302": "A redirect; its target is in `Location`.",
  "400": "The request is at fault: `invalid_request_error` or `context_length_exceeded`.",
  "401": "The credential is missing or wrong.",
  "402": "The month's budget has no room.",
  "403": "The credential does not allow it, or the privacy guard refused the request.",
  "404": "It does not exist, or is another's; or no provider is left.",
  "408": "The body arrived too slowly.",
  "409": "It conflicts with another request, or is still running.",
  "413": "The body is too large.",
  "415": "The body's type or encoding is not supported.",
  "422": "The request is not valid. Every fault is listed.",
  "429": "A rate limit is reached; `Retry-After` says when to come back.",
  "500": "A fault of the gateway.",
  "502": "The providers failed.",
  "503": "The gateway, its database or the providers cannot serve requests now.",
  "504": "The providers did not answer in time.",
  "529": "The gateway has too many requests."
}

/** Describes parameters, by place and name. */
export const parameterWords: Readonly<Record<string, string>> = {
  "header idempotency-key": "Names the request: sent again with the same name, it is not carried out twice.",
  "path author": "The first half of a model's id.",
  "path channel": "How the code is sent.",
  "path generation_id": "The id of a generation, as in `X-Generation-Id`.",
  "path key_id": "The id of a key.",
  "path provider": "An identity provider, as `GET /auth/methods` lists it.",
  "path response_id": "The id of a stored response.",
  "path session_id": "The id of a session.",
  "path slug": "The second half of a model's id.",
  "path user_id": "The id of a user.",
  "query after": "The id of the last item of the page before.",
  "query cache_hit": "`true`: only answers of the gateway's prompt cache.",
  "query cursor": "The `next_cursor` of the page before.",
  "query email": "The user with this address.",
  "query end": "How the request ended.",
  "query error": "A type of error, `any` (failed) or `none` (not failed).",
  "query fallback": "`true`: only requests that another provider than the first one answered.",
  "query format": "`csv`: a file with every row that matches, without pages.",
  "query from": "The beginning, inclusive.",
  "query generation_id": "The id of a generation.",
  "query group_by": "What the rows stand for.",
  "query key": "The id of a key.",
  "query limit": "The most entries of the page.",
  "query model": "The id of a model.",
  "query order": "The order of the items: `desc` is newest first.",
  "query provider": "The slug of a provider.",
  "query range": "An hour by minute, or a day by hour.",
  "query redirect_to": "Where the browser goes after the sign-in; one of those that the settings allow.",
  "query request_id": "The id of a request, as in `X-Request-Id`.",
  "query search": "A part of an address or of a number, or an id.",
  "query sort": "What the entries are sorted by.",
  "query status": "The HTTP status that was sent.",
  "query stream": "Has to be `false`: a stored response is not streamed again.",
  "query to": "The end, exclusive.",
  "query user": "The id of a user."
}

/** Describes the groups of operations. */
export const tagWords: Readonly<Record<string, string>> = {
  "Chat completions": "OpenAI's chat completions, over every provider.",
  Messages: "Anthropic's Messages API, over every provider.",
  Responses: "OpenAI's Responses API, over every provider.",
  "Responses: stored": "Responses that were kept for their key.",
  "Administration: audit": "Who changed what, when and from where.",
  "Administration: requests": "All requests, refused ones too.",
  "Portal: requests": "The requests of a user's own keys, refused ones too.",
  Embeddings: "OpenAI's embeddings.",
  Routing: "Where a request would go, without calling a provider.",
  Models: "The models that a key may use.",
  Generations: "The receipts of a key's own requests.",
  Usage: "Sums of a key's own requests.",
  "API keys": "Management of keys, for admins.",
  "Own key": "The key of the request.",
  Privacy: "A preview of masking.",
  Administration: "Figures for operators.",
  "Administration: time series": "Figures over time, for charts.",
  "Administration: generations": "The receipts of all requests.",
  "Administration: usage": "Sums of all requests.",
  "Portal: generations": "The receipts of a user's own keys.",
  "Portal: models": "The models for users, with prices.",
  "Administration: adding providers": "Testing, adding, changing and removing providers while the gateway runs.",
  "Administration: providers": "How providers and their models do, and the history of circuits.",
  "Administration: models": "Every model of every provider.",
  "Administration: settings": "The settings in force.",
  "Administration: webhooks": "Events that were not delivered.",
  "Sign-in": "Codes, identity providers and tokens.",
  "Sign-in methods": "The ways to sign in.",
  "Signed-in user": "A user's own account and sessions.",
  Portal: "Keys that users make for themselves, within their grants.",
  Users: "Management of users, for admins.",
  "Administration: metrics": "Metrics for Prometheus.",
  Health: "Probes for load balancers and people."
}
