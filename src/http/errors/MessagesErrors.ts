/**
 * The table that maps each reason to an error of the Messages API, exhaustively: its type, and its
 * status where that differs from http/errors/WireErrors. The words are those of that table, except
 * for an overflow, which Anthropic's clients recognise by Anthropic's words.
 */
import { Schema } from "effect"
import { type MessagesErrorBody, MessagesErrorType } from "../../api/MessagesErrors.ts"
import { type ContextLengthExceeded, type InvalidRequest, type Reason } from "../../domain/Errors.ts"
import { type Wire } from "./WireErrors.ts"

interface Form {
  readonly type: MessagesErrorType
  readonly status?: number
}

const invalid: Form = { type: "invalid_request_error" }
/** The Messages API has no 422. */
export const invalidBody: Form = { ...invalid, status: 400 }
const permission: Form = { type: "permission_error" }
const conflict: Form = { type: "conflict_error" }
const notFound: Form = { type: "not_found_error" }
const limited: Form = { type: "rate_limit_error" }
const failed: Form = { type: "api_error" }
const unauthenticated: Form = { type: "authentication_error" }
const timedOut: Form = { type: "timeout_error" }
const overloaded: Form = { type: "overloaded_error", status: 529 }

const forms: Readonly<Record<Reason["_tag"], Form>> = {
  Unauthenticated: unauthenticated,
  AdminUnauthenticated: unauthenticated,
  SignInRefused: unauthenticated,
  ScopeMissing: permission,
  ModelNotAllowed: permission,
  PrivacyBlocked: permission,
  UserSuspended: permission,
  SignUpRefused: permission,
  AdminRequired: permission,
  GrantExceeded: permission,
  ForeignSite: permission,
  BudgetExceeded: { type: "billing_error" },
  RateLimited: limited,
  ProviderRateLimited: limited,
  SignInLimited: limited,
  ModelNotFound: notFound,
  NotFound: notFound,
  NoEligibleProvider: notFound,
  ProviderLacksModel: notFound,
  ContextLengthExceeded: invalid,
  InvalidRequest: invalid,
  MethodNotAllowed: invalid,
  RequestUnreadable: invalid,
  EncodingUnsupported: invalid,
  UnknownSignInMethod: invalidBody,
  SignInInputInvalid: invalidBody,
  OAuthRefused: invalid,
  KeyRevoked: conflict,
  KeyRotated: conflict,
  OwnAccount: permission,
  ProviderSetupRefused: { ...conflict, status: 409 },
  IdempotencyConflict: conflict,
  GenerationRunning: conflict,
  BodyTooLarge: { type: "request_too_large" },
  BodyTooSlow: timedOut,
  ProvidersTimedOut: timedOut,
  ProvidersFailed: failed,
  DependencyUnavailable: failed,
  ProviderUnavailable: overloaded,
  Overloaded: overloaded
}

/** `reason`: null for a defect. */
export const messagesForm = (reason: Reason | null): Form => {
  if (reason === null) return failed
  const own = ownWords(reason)
  if (own !== null) return { type: own.type, status: own.status }
  if (reason._tag === "IdempotencyConflict" && reason.kind === "other_body") return invalidBody
  return forms[reason._tag]
}

/** The vendor's own refusal, on whose words its clients act; null: there is none. */
const ownWords = (reason: Reason | null) => {
  if (reason === null || !("own" in reason) || reason.own === undefined) return null
  const { error, status } = reason.own
  const { message, type } = error
  return { status, type: isType(type) ? type : invalid.type, message: typeof message === "string" ? message : "" }
}

const isType = Schema.is(MessagesErrorType)

/** The envelope. */
export const messagesBody = (
  { type }: Form,
  reason: Reason | null,
  { code, details, message, param }: Wire,
  requestId: string
): MessagesErrorBody => ({
  type: "error",
  error: {
    type,
    message: ownWords(reason)?.message ?? wordsOf(reason, message),
    details: { ...details, ...(param == null ? {} : { param }), ...(code === null ? {} : { error_code: code }) }
  },
  request_id: requestId
})

const wordsOf = (reason: Reason | null, words: string): string => {
  if (reason?._tag === "ContextLengthExceeded") return overflow(reason, words)
  const capability = reason?._tag === "InvalidRequest" ? capabilityOf(reason) : null
  if (capability !== null) return `${words} (capability_rejected: ${capability})`
  // Clients of this API send names of their own that no provider may have.
  return reason?._tag === "ModelNotFound" && reason.ambiguous.length === 0
    ? `${words} The gateway's setting \`aliases\` can map the name to a model.`
    : words
}

/** Claude Code's word for what no provider takes. It asks again without it. */
const capabilityOf = ({ code, message, param }: InvalidRequest): string | null => {
  if (code !== "unsupported_parameter") return null
  if (param === "response_format" || param === "output_config.format") return "structured_outputs_unsupported"
  if (param === "reasoning" || param === "reasoning_effort") return "effort_unsupported"
  if (/\b(?:image|picture)/i.test(message)) return "image_block"
  return /\b(?:document|file)/i.test(message) ? "document_block" : null
}

/**
 * A client that reads these words shortens its conversation and tries again; or it lowers
 * `max_tokens`, if the prompt alone would fit.
 */
const overflow = ({ contextLength, message, promptTokens }: ContextLengthExceeded, words: string): string => {
  if (message === null) return `prompt is too long: ${promptTokens} tokens > ${contextLength} maximum`
  if (/prompt is too long|exceed context limit/i.test(words)) return words
  const [, most, prompt, output] = sums.exec(words) ?? []
  return most === undefined || Number(prompt) >= Number(most)
    ? `prompt is too long: ${words}`
    : `input length and \`max_tokens\` exceed context limit: ${prompt} + ${output} > ${most}, decrease input length or \`max_tokens\` and try again`
}

/** How servers of OpenAI's API tell the sum: the most, the prompt, the output. */
const sums =
  /maximum context length is (\d{1,9}) tokens\D{1,80}\d{1,9} tokens\W{1,4}(\d{1,9}) \D{1,40}?(\d{1,9}) in the completion/i
