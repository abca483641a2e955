/**
 * Checks every error of http/errors against the endpoints that can send it: each endpoint declares
 * the status, and its schema accepts the body. The table below says where a reason can occur; a
 * missing reason does not compile. Errors that other tests provoke are compared by the test
 * application itself, in DeclaredAnswers.ts.
 */
import { assert, it } from "@effect/vitest"
import { gatewayError, type Reason } from "../../src/domain/Errors.ts"
import { errorResponse, internalErrorResponse, validationResponse } from "../../src/http/errors/ErrorResponse.ts"
import { surfaceOf } from "../../src/http/errors/Surface.ts"
import { eventFaultOf, faultOf } from "../support/DeclaredAnswers.ts"
import { reasons } from "../support/reasons.ts"

const metered = ["POST /v1/chat/completions", "POST /v1/messages", "POST /v1/responses", "POST /v1/embeddings"]
const previews = ["POST /v1/route/preview", "POST /v1/privacy/preview", "POST /v1/messages/count_tokens"]
const oneResponse = ["GET /v1/responses/1", "DELETE /v1/responses/1", "GET /v1/responses/1/input_items"]
const ofKeys = [
  ...metered,
  ...previews,
  ...oneResponse,
  "GET /v1/models",
  "GET /v1/generations/1",
  "GET /v1/generations",
  "GET /v1/usage",
  "GET /v1/key"
]
const scoped = ofKeys.filter((endpoint) => endpoint !== "GET /v1/key")
const ofAdmins = [
  "POST /v1/keys",
  "GET /v1/keys",
  "POST /v1/keys/bulk",
  "GET /v1/keys/1",
  "PATCH /v1/keys/1",
  "DELETE /v1/keys/1",
  "POST /v1/keys/1/rotate",
  "GET /v1/admin/overview",
  "GET /v1/admin/timeseries",
  "GET /v1/admin/generations/1",
  "GET /v1/admin/generations",
  "GET /v1/admin/usage",
  "GET /v1/admin/models",
  "GET /v1/admin/providers",
  "GET /v1/admin/providers/1",
  "GET /v1/admin/presets",
  "POST /v1/admin/providers/test",
  "POST /v1/admin/providers",
  "PUT /v1/admin/providers/1/key",
  "DELETE /v1/admin/providers/1",
  "GET /v1/admin/settings",
  "POST /v1/admin/settings/reload",
  "GET /v1/admin/audit",
  "GET /v1/admin/refused-credentials",
  "GET /v1/admin/webhooks",
  "GET /v1/admin/webhooks/deliveries",
  "GET /v1/admin/webhooks/dead-letters",
  "POST /v1/admin/webhooks/dead-letters/retry",
  "POST /v1/admin/webhooks/dead-letters/1/retry",
  "GET /v1/admin/users",
  "POST /v1/admin/users",
  "GET /v1/admin/users/1",
  "PATCH /v1/admin/users/1",
  "GET /metrics"
]
const ofUsers = [
  "GET /v1/portal/models",
  "GET /auth/me",
  "GET /auth/sessions",
  "DELETE /auth/sessions/1",
  "GET /v1/portal/keys",
  "POST /v1/portal/keys",
  "GET /v1/portal/keys/1",
  "PATCH /v1/portal/keys/1",
  "DELETE /v1/portal/keys/1",
  "POST /v1/portal/keys/1/rotate",
  "GET /v1/portal/grants",
  "GET /v1/portal/usage",
  "GET /v1/portal/generations/1",
  "GET /v1/portal/generations"
]
const byCode = ["POST /auth/register/email/start", "POST /auth/register/email/verify"]
const byOAuth = ["GET /auth/oauth/google/start", "GET /auth/oauth/google/callback"]
const oneGeneration = ofKeys.concat(ofAdmins, ofUsers).filter((endpoint) => endpoint.includes("generations/1"))
const withBody = [...ofKeys, ...ofAdmins, ...ofUsers, ...byCode].filter(
  (endpoint) => /^(?:POST|PATCH|PUT)/.test(endpoint) && !/dead-letters\/1\/retry$|settings\/reload$/.test(endpoint)
)

/**
 * The endpoints that can send the reason. Null: it occurs only without an endpoint, or before one
 * is matched.
 */
const endpointsOf = (reason: Reason): ReadonlyArray<string> | null => {
  switch (reason._tag) {
    case "Unauthenticated":
      return ofKeys
    case "AdminUnauthenticated":
    case "AdminRequired":
      return ofAdmins
    case "ScopeMissing":
      return scoped
    case "RateLimited":
      return [...metered, ...previews]
    case "BudgetExceeded":
    case "ModelNotAllowed":
    case "ContextLengthExceeded":
    case "IdempotencyConflict":
    case "ProvidersFailed":
    case "ProvidersTimedOut":
    case "ProviderUnavailable":
    case "ProviderRateLimited":
    case "ProviderLacksModel":
      return metered
    case "NoEligibleProvider":
    case "ModelNotFound":
      return [...metered, "POST /v1/route/preview"]
    case "PrivacyBlocked":
      return metered
    case "InvalidRequest":
      if (reason.code === "invalid_span") return ["GET /v1/usage", "GET /v1/admin/usage", "GET /v1/portal/usage"]
      return reason.code === "invalid_encoding" ? withBody : metered
    case "NotFound":
      switch (reason.what) {
        case "dead_letter":
          return ["POST /v1/admin/webhooks/dead-letters/1/retry"]
        case "generation":
          return oneGeneration
        case "provider":
          return ["GET /v1/admin/providers/1", "PUT /v1/admin/providers/1/key", "DELETE /v1/admin/providers/1"]
        case "key":
          return [
            "GET /v1/keys/1",
            "GET /v1/portal/keys/1",
            ...["PATCH", "DELETE"].flatMap((method) => [`${method} /v1/keys/1`, `${method} /v1/portal/keys/1`]),
            "POST /v1/keys/1/rotate",
            "POST /v1/portal/keys/1/rotate"
          ]
        case "session":
          return ["DELETE /auth/sessions/1"]
        case "user":
          return ["GET /v1/admin/users/1", "PATCH /v1/admin/users/1"]
        case "response":
          return oneResponse
        case "route":
          return null
      }
    case "KeyRevoked":
      return ["PATCH /v1/keys/1", "POST /v1/keys/1/rotate", "PATCH /v1/portal/keys/1", "POST /v1/portal/keys/1/rotate"]
    case "KeyRotated":
      return ["POST /v1/keys/1/rotate", "POST /v1/portal/keys/1/rotate"]
    case "GenerationRunning":
      return oneGeneration
    case "BodyTooLarge":
    case "BodyTooSlow":
    case "EncodingUnsupported":
    case "Overloaded":
      return withBody
    case "DependencyUnavailable":
      return reason.dependency === "identity_provider"
        ? byOAuth
        : reason.dependency === "database"
          ? [...ofKeys, ...ofUsers, ...byCode, ...byOAuth, "POST /v1/keys", "GET /v1/admin/overview"]
          : metered
    case "SignInRefused":
      return {
        session: ofUsers,
        code: ["POST /auth/register/email/verify"],
        refresh_token: ["POST /auth/refresh"],
        console_link: ["POST /auth/dev/console"]
      }[reason.what]
    case "UserSuspended":
    case "SignUpRefused":
      return ["POST /auth/register/email/verify", "GET /auth/oauth/google/callback"]
    case "SignInLimited":
      return [...byCode, ...byOAuth, "POST /auth/refresh", ...ofAdmins]
    case "UnknownSignInMethod":
      return reason.param === "channel" ? byCode : byOAuth
    case "SignInInputInvalid":
      return ["POST /auth/register/email/start"]
    case "OAuthRefused":
      return byOAuth
    case "OwnAccount":
      return ["PATCH /v1/admin/users/1"]
    case "ProviderSetupRefused":
      return ["POST /v1/admin/providers", "PUT /v1/admin/providers/1/key"]
    case "GrantExceeded":
      return ["POST /v1/portal/keys", "PATCH /v1/portal/keys/1"]
    case "ForeignSite":
      return [...byCode, "POST /auth/refresh", "POST /auth/logout"]
    case "RequestUnreadable":
    case "MethodNotAllowed":
      return null
  }
}

const askedOf = (endpoint: string) => ({
  requestId: "req_1",
  surface: surfaceOf(endpoint.slice(endpoint.indexOf(" ") + 1))
})

const faultAt = (endpoint: string, response: Parameters<typeof faultOf>[1]) => {
  const [method = "", url = ""] = endpoint.split(" ")
  return faultOf({ method: method as Parameters<typeof faultOf>[0]["method"], url }, response)
}

it("declares every reason wherever it can occur, with the schema of its body", () => {
  const faults = reasons.flatMap((reason) =>
    (endpointsOf(reason) ?? []).map((endpoint) =>
      faultAt(endpoint, errorResponse(gatewayError(reason), askedOf(endpoint)))
    )
  )
  assert.deepStrictEqual(
    faults.filter((fault) => fault !== undefined),
    []
  )
})

it("declares invalid bodies and internal errors on every endpoint that takes a body", () => {
  const detail = [{ loc: ["body", "model"], msg: "Field required", type: "missing", input: {} }]
  for (const endpoint of withBody) {
    assert.isUndefined(faultAt(endpoint, validationResponse(detail, askedOf(endpoint))))
    assert.isUndefined(faultAt(endpoint, internalErrorResponse(askedOf(endpoint))))
  }
})

it("detects a response that no schema of its endpoint accepts", () => {
  const [refused] = reasons.filter(({ _tag }) => _tag === "BudgetExceeded")
  assert.isDefined(refused)
  if (refused === undefined) return
  const response = errorResponse(gatewayError(refused), askedOf("GET /v1/models"))
  assert.include(faultAt("GET /v1/models", response), "models.list answered 402")
  assert.include(eventFaultOf("/v1/chat/completions", 'data: {"object":"no chunk"}\n\n'), "chat.complete streamed")
})
