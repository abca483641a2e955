/**
 * The wire errors of signing in and of user accounts. A part of the table in
 * http/errors/WireErrors.
 */
import { type Reason } from "../../domain/Errors.ts"
import { usdFromNano } from "../../domain/pricing/Money.ts"
import { type Wire } from "./WireErrors.ts"

type SignInReason = Extract<
  Reason,
  {
    readonly _tag:
      | "SignInRefused"
      | "UserSuspended"
      | "SignInLimited"
      | "SignUpRefused"
      | "UnknownSignInMethod"
      | "SignInInputInvalid"
      | "OAuthRefused"
      | "AdminRequired"
      | "OwnAccount"
      | "GrantExceeded"
      | "ForeignSite"
  }
>

const refusals = {
  session: {
    code: "invalid_session",
    message: "No valid access token was sent. Send one as `Authorization: Bearer <token>`."
  },
  code: { code: "invalid_code", message: "The code is wrong, used or no longer valid. Ask for another." },
  refresh_token: { code: "invalid_refresh_token", message: "The refresh token is no longer valid. Sign in again." },
  console_link: {
    code: "invalid_console_link",
    message:
      "This link was used, or is older than ten minutes. Sign in with the admin key, or restart the gateway for another link."
  }
} as const

const flowFaults = {
  invalid_state: "This sign-in was started in another browser, or it has ended. Start it again.",
  redirect_not_allowed: "redirect_to is not one of the targets that auth.redirects allows.",
  denied: "The identity provider refused the sign-in.",
  not_proved: "The identity provider's response could not be verified. Start the sign-in again.",
  admin_session_required:
    "This would link a new sign-in method to an admin's account. First sign in to that account in this browser, with a code or a method that it already has, then try again."
} as const

const inputFaults = {
  missing: { msg: "Field required", type: "missing" },
  malformed: { msg: "", type: "value_error" },
  country: { msg: "Value error, codes are not sent to numbers of this country", type: "value_error" }
} as const

const methods = {
  channel: { what: "channel for codes", setting: "`auth.channels`, `auth.email` and `auth.sms` of the settings" },
  provider: { what: "OAuth provider", setting: "`auth.oauth` of the settings" }
} as const

const grantFaults = {
  monthly_budget_usd: "This is more than the rest of the budget that was granted to you for all your keys.",
  tier: "This tier is higher than the one that was granted to you.",
  scopes: "Some of these scopes were not granted to you.",
  keys: "You have the maximum number of keys. Revoke one first."
} as const

const grantMessage = ({
  availableNano,
  isNothingGranted,
  param
}: Extract<Reason, { readonly _tag: "GrantExceeded" }>) => {
  if (isNothingGranted === true) return "You have no budget yet. Ask an admin of this gateway to grant you one."
  if (availableNano === 0) return "Your keys use up the budget that was granted to you. Lower the budget of one first."
  return grantFaults[param]
}

export const signInWireOf = (reason: SignInReason): Wire => {
  switch (reason._tag) {
    case "SignInRefused":
      return {
        status: 401,
        type: "authentication_error",
        ...refusals[reason.what],
        retryable: false,
        headers: { "www-authenticate": "Bearer" }
      }
    case "UserSuspended":
      return denied("user_suspended", "This account is suspended.")
    case "AdminRequired":
      return denied("admin_required", "This needs the admin key, or the session of an admin.")
    case "OwnAccount":
      return denied("own_account", "You cannot change your own role or status. Another admin, or the admin key, can.")
    case "GrantExceeded":
      return {
        ...denied("grant_exceeded", grantMessage(reason)),
        param: reason.param === "keys" ? null : reason.param,
        details: reason.availableNano === null ? {} : { available_usd: usdFromNano(reason.availableNano) }
      }
    case "ForeignSite":
      return denied("foreign_site", "A browser sent this request from another site.")
    case "SignInLimited":
      return {
        status: 429,
        type: "rate_limit_exceeded",
        code: "sign_in_limit_exceeded",
        message: "Too many attempts to sign in, or with wrong admin keys. Retry after the time in Retry-After.",
        retryable: true,
        retryAfterMs: reason.retryAfterMs
      }
    case "SignUpRefused":
      return reason.fault === "domain"
        ? denied("sign_up_refused", "New accounts are limited to some e-mail domains. Ask an admin to create yours.")
        : {
            status: 429,
            type: "rate_limit_exceeded",
            code: "sign_up_limit_exceeded",
            message: "The daily limit of new accounts is reached. Try again later, or ask an admin to create yours.",
            retryable: false,
            retryAfterMs: 3_600_000
          }
    case "OAuthRefused":
      return {
        status: 400,
        type: "invalid_request_error",
        code: `oauth_${reason.fault}`,
        message: flowFaults[reason.fault],
        param: reason.fault === "redirect_not_allowed" ? "redirect_to" : null,
        retryable: false
      }
    case "UnknownSignInMethod": {
      const quoted = reason.known.map((name) => `'${name}'`)
      const last = quoted.at(-1) ?? "none"
      const expected = quoted.length < 2 ? last : `${quoted.slice(0, -1).join(", ")} or ${last}`
      const { setting, what } = methods[reason.param]
      const msg =
        quoted.length === 0
          ? `No input is valid: this gateway has no ${what} configured. Its operator can configure one under ${setting}; GET /auth/methods lists the sign-in methods`
          : `Input should be ${expected}: no other ${what} is configured. The operator of this gateway can configure one under ${setting}`
      return invalid(["path", reason.param], msg, "literal_error", {
        input: reason.sent.slice(0, 64),
        ctx: { expected }
      })
    }
    case "SignInInputInvalid": {
      const form = reason.param === "email" ? "an email address" : "a phone number in E.164, such as +12025550123"
      const { msg, type } = inputFaults[reason.fault]
      return invalid(["body", reason.param], msg === "" ? `Value error, this is not ${form}` : msg, type, {})
    }
  }
}

const denied = (code: string, message: string): Wire => ({
  status: 403,
  type: "permission_denied",
  code,
  message,
  retryable: false
})

const invalid = (
  loc: readonly [string, string],
  msg: string,
  type: string,
  more: { readonly input?: unknown; readonly ctx?: Readonly<Record<string, unknown>> }
): Wire => ({
  status: 422,
  type: "invalid_request_error",
  code: "validation_failed",
  message: `${loc.join(".")}: ${msg}`,
  param: loc[1],
  retryable: false,
  detail: [{ loc, msg, type, ...more }]
})
