/** Every reason of an error, in each form that has a different response. */
import {
  AdminRequired,
  AdminUnauthenticated,
  BodyTooLarge,
  BodyTooSlow,
  BudgetExceeded,
  ContextLengthExceeded,
  DependencyUnavailable,
  EncodingUnsupported,
  ForeignSite,
  GenerationRunning,
  GrantExceeded,
  IdempotencyConflict,
  InvalidRequest,
  KeyRevoked,
  KeyRotated,
  MethodNotAllowed,
  ModelNotAllowed,
  ModelNotFound,
  NoEligibleProvider,
  NotFound,
  OAuthRefused,
  Overloaded,
  OwnAccount,
  PrivacyBlocked,
  ProviderLacksModel,
  ProviderRateLimited,
  ProviderSetupRefused,
  ProvidersFailed,
  ProvidersTimedOut,
  ProviderUnavailable,
  RateLimited,
  type Reason,
  RequestUnreadable,
  ScopeMissing,
  SignInInputInvalid,
  SignInLimited,
  SignInRefused,
  SignUpRefused,
  Unauthenticated,
  UserSuspended,
  UnknownSignInMethod
} from "../../src/domain/Errors.ts"
import { type Attempt } from "../../src/domain/Generation.ts"

const refusedKey: Attempt = {
  provider: "alpha",
  model: "test/small",
  status: "error",
  errorType: "credentials_refused",
  httpStatus: 401,
  latencyMs: 1
}
const call = { attempts: [], retryAfterMs: null }
const limited = { holder: "key", allowed: 1, needed: null, retryAfterMs: 1 } as const
const invalid = (code: string | null) => new InvalidRequest({ message: "", param: null, code, provider: null })

/** A missing reason does not compile. */
const samples: { readonly [Tag in Reason["_tag"]]: ReadonlyArray<Extract<Reason, { readonly _tag: Tag }>> } = {
  Unauthenticated: [new Unauthenticated()],
  AdminUnauthenticated: [new AdminUnauthenticated()],
  ScopeMissing: [new ScopeMissing({ scope: "chat:write" })],
  RateLimited: [
    new RateLimited({ ...limited, limit: "requests" }),
    new RateLimited({ ...limited, limit: "tokens" }),
    new RateLimited({ ...limited, limit: "tokens", needed: 2, retryAfterMs: null }),
    new RateLimited({ ...limited, limit: "concurrency" })
  ],
  BudgetExceeded: [new BudgetExceeded({ capNano: 1, spentNano: 1, reservedNano: 0, neededNano: 1, resetsAtMs: 0 })],
  ModelNotAllowed: [new ModelNotAllowed({ model: "test/small" })],
  PrivacyBlocked: [
    new PrivacyBlocked({ counts: {}, cause: "found" }),
    new PrivacyBlocked({ counts: {}, cause: "unsearched" })
  ],
  ModelNotFound: [new ModelNotFound({ model: "test/small", ambiguous: [], nearest: null })],
  NotFound: (["generation", "key", "provider", "response", "route", "session", "user"] as const).map(
    (what) => new NotFound({ what, id: "" })
  ),
  MethodNotAllowed: [new MethodNotAllowed({ allow: [] })],
  NoEligibleProvider: [new NoEligibleProvider({ model: "test/small", excluded: [] })],
  ContextLengthExceeded: [
    new ContextLengthExceeded({ message: null, promptTokens: 2, contextLength: 1, param: "messages" })
  ],
  KeyRevoked: [new KeyRevoked()],
  InvalidRequest: [
    null,
    "unsupported_parameter",
    "thread_unsupported_request",
    "previous_response_not_found",
    "invalid_encoding",
    "invalid_span"
  ].map(invalid),
  KeyRotated: [new KeyRotated()],
  IdempotencyConflict: [new IdempotencyConflict({ kind: "running" }), new IdempotencyConflict({ kind: "other_body" })],
  GenerationRunning: [new GenerationRunning({ retryAfterMs: 1 })],
  BodyTooLarge: [new BodyTooLarge({ limitBytes: 1, setting: null })],
  RequestUnreadable: (["headers_too_large", "malformed", "too_slow"] as const).map(
    (fault) => new RequestUnreadable({ fault })
  ),
  EncodingUnsupported: [new EncodingUnsupported({ encoding: "zstd" })],
  BodyTooSlow: [new BodyTooSlow({ limitMs: 1 })],
  ProvidersFailed: [new ProvidersFailed(call), new ProvidersFailed({ ...call, attempts: [refusedKey] })],
  ProvidersTimedOut: [new ProvidersTimedOut(call)],
  ProviderUnavailable: [new ProviderUnavailable(call)],
  ProviderRateLimited: [new ProviderRateLimited({ ...call, provider: "alpha" })],
  ProviderLacksModel: [new ProviderLacksModel({ ...call, model: "test/small" })],
  DependencyUnavailable: (["database", "limit_store", "cache", "identity_provider"] as const).map(
    (dependency) => new DependencyUnavailable({ dependency })
  ),
  SignInRefused: (["session", "code", "refresh_token", "console_link"] as const).map(
    (what) => new SignInRefused({ what })
  ),
  UserSuspended: [new UserSuspended()],
  SignUpRefused: [new SignUpRefused({ fault: "domain" }), new SignUpRefused({ fault: "day" })],
  SignInLimited: [new SignInLimited({ retryAfterMs: 1 })],
  UnknownSignInMethod: [new UnknownSignInMethod({ param: "channel", sent: "fax", known: [] })],
  SignInInputInvalid: [new SignInInputInvalid({ param: "email", fault: "missing" })],
  OAuthRefused: (
    ["invalid_state", "redirect_not_allowed", "denied", "not_proved", "admin_session_required"] as const
  ).map((fault) => new OAuthRefused({ fault })),
  AdminRequired: [new AdminRequired()],
  OwnAccount: [new OwnAccount()],
  ProviderSetupRefused: (
    [
      "invalid_provider",
      "models_unpriced",
      "provider_exists",
      "provider_of_environment",
      "provider_test_failed",
      "settings_busy",
      "settings_changed",
      "settings_uneditable",
      "settings_unwritable",
      "unknown_preset",
      "variable_refused"
    ] as const
  ).map((fault) => new ProviderSetupRefused({ fault, message: "It is there already.", param: null, details: {} })),
  GrantExceeded: [new GrantExceeded({ param: "keys", availableNano: null })],
  ForeignSite: [new ForeignSite()],
  Overloaded: [new Overloaded()]
}

export const reasons: ReadonlyArray<Reason> = Object.values(samples).flat()
