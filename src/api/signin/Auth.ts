/**
 * Sign-in: codes by channel, OAuth by provider, refresh and logout, and the signed-in user's own
 * account. Refresh tokens are sent in bodies for programs and in an HttpOnly cookie for browsers.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Channel, Role } from "../../domain/User.ts"
import { SessionAuthorization } from "../Authorization.ts"
import { BodyBytes, errors, Validation } from "../Failure.ts"
import { AnsweredMoment as Moment } from "../schemas/Moments.ts"
import { allowsUnknownQuery, bodyOptional, refusesUnknownQuery } from "../schemas/Strictness.ts"
import { text } from "../schemas/Texts.ts"

const channel = { channel: Channel }
const provider = { provider: Schema.String }
const Text = text(320)
const Token = text(512)
const nullable = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

/** The member of the channel is required. The other is ignored. */
const StartRequest = Schema.Struct({ email: nullable(Text), phone: nullable(Text) }).annotate({
  identifier: "StartSignInRequest"
})

export const Challenge = Schema.Struct({
  challenge_id: Schema.String,
  channel: Channel,
  /** In seconds. */
  expires_in: Schema.Int,
  resend_after: Schema.Int,
  masked_destination: Schema.String
}).annotate({ identifier: "SignInChallenge" })

const VerifyRequest = Schema.Struct({
  challenge_id: Text,
  code: Text,
  /** Where the refresh token is sent: only in the cookie or only in the body. Absent: both. */
  refresh_token_in: Schema.optionalKey(Schema.Literals(["body", "cookie"]))
}).annotate({ identifier: "VerifySignInRequest" })

export const User = Schema.Struct({
  id: Schema.String,
  email: Schema.NullOr(Schema.String),
  phone: Schema.NullOr(Schema.String),
  role: Role,
  created_at: Moment,
  last_sign_in_at: Schema.NullOr(Moment),
  identities: Schema.Array(
    Schema.Struct({
      provider: Schema.String,
      subject: Schema.String,
      email: Schema.NullOr(Schema.String),
      created_at: Moment
    })
  )
}).annotate({ identifier: "User" })
export type User = typeof User.Type

export const Tokens = Schema.Struct({
  access_token: Schema.String,
  token_type: Schema.Literal("bearer"),
  /** In seconds. */
  expires_in: Schema.Int,
  /** Null if it is only in the cookie. */
  refresh_token: Schema.NullOr(Schema.String),
  user: User
}).annotate({ identifier: "SignInTokens" })
export type Tokens = typeof Tokens.Type

const TokenRequest = Schema.Struct({ refresh_token: nullable(Token) }).annotate({ identifier: "RefreshTokenRequest" })
const ConsoleLinkRequest = Schema.Struct({ token: Token }).annotate({ identifier: "ConsoleLinkRequest" })
export const ConsoleEntry = Schema.Struct({ admin_key: Schema.String }).annotate({ identifier: "ConsoleEntry" })
const Done = Schema.Struct({ ok: Schema.Literal(true) }).annotate({ identifier: "Done" })

const AuthorizationLocation = Schema.Struct({ authorization_url: Schema.String, expires_in: Schema.Int }).annotate({
  identifier: "AuthorizationLocation"
})
const Redirect = HttpApiSchema.Empty(302)

const Session = Schema.Struct({
  id: Schema.String,
  created_at: Moment,
  last_used_at: Moment,
  expires_at: Moment,
  signed_in_by: Schema.String,
  user_agent: Schema.NullOr(Schema.String),
  /** True for the session of this request. */
  current: Schema.Boolean
}).annotate({ identifier: "Session" })

const Letter = Schema.Struct({
  channel: Channel,
  destination: Schema.String,
  code: Schema.String,
  sent_at: Moment
}).annotate({ identifier: "DevelopmentLetter" })

const JsonWebKeySet = Schema.Struct({ keys: Schema.Array(Schema.Record(Schema.String, Schema.Unknown)) }).annotate({
  identifier: "JsonWebKeySet"
})

const summary = (text: string) => OpenApi.annotations({ summary: text })

const list = <S extends Schema.Top>(identifier: string, entry: S) =>
  Schema.Struct({ object: Schema.Literal("list"), data: Schema.Array(entry) }).annotate({ identifier })

export class AuthGroup extends HttpApiGroup.make("auth")
  .add(
    HttpApiEndpoint.post("start", "/auth/register/:channel/start", {
      params: channel,
      payload: StartRequest,
      success: Challenge,
      error: errors(403, 429, 500, 503)
    }).annotateMerge(summary("Send a code. The answer is the same with and without an account")),
    HttpApiEndpoint.post("verify", "/auth/register/:channel/verify", {
      params: channel,
      payload: VerifyRequest,
      success: Tokens,
      error: errors(401, 403, 429, 500, 503)
    }).annotateMerge(summary("Exchange a code for tokens. The first sign-in creates the account")),
    HttpApiEndpoint.post("refresh", "/auth/refresh", {
      payload: [TokenRequest, Schema.Null],
      success: Tokens,
      error: errors(401, 403, 429, 500, 503)
    })
      .annotateMerge(summary("Exchange a refresh token, in the body or the cookie, for new tokens"))
      .annotateMerge(bodyOptional),
    HttpApiEndpoint.post("logout", "/auth/logout", {
      payload: [TokenRequest, Schema.Null],
      success: Done,
      error: errors(403, 500, 503)
    })
      .annotateMerge(summary("End the session of a refresh token. Idempotent"))
      .annotateMerge(bodyOptional),
    HttpApiEndpoint.get("authorize", "/auth/oauth/:provider/start", {
      params: provider,
      query: { redirect_to: Schema.optionalKey(text(2_048)) },
      success: [AuthorizationLocation, Redirect],
      error: errors(400, 429, 500, 503)
    }).annotateMerge(summary("Redirect to an identity provider. With Accept: application/json, return its address")),
    HttpApiEndpoint.get("callback", "/auth/oauth/:provider/callback", {
      params: provider,
      // Identity providers add members of their own, and some repeat one.
      query: Schema.Record(Schema.String, Schema.Union([Schema.String, Schema.Array(Schema.String)])),
      success: [Tokens, Redirect],
      error: errors(400, 403, 429, 500, 503)
    }).annotateMerge(summary("The redirect target for identity providers")),
    HttpApiEndpoint.get("mailbox", "/auth/dev/mailbox", {
      success: list("LetterList", Letter),
      error: errors(404)
    }).annotateMerge(summary("Undelivered codes, for development on this machine only")),
    HttpApiEndpoint.post("consoleLink", "/auth/dev/console", {
      payload: ConsoleLinkRequest,
      success: ConsoleEntry,
      error: errors(401, 403, 404)
    }).annotateMerge(summary("Exchange the token of a start's one-time link, for development on this machine only")),
    HttpApiEndpoint.get("keySet", "/.well-known/jwks.json", {
      success: JsonWebKeySet,
      error: errors(500, 503)
    })
      .annotateMerge(summary("The public keys of access tokens"))
      .annotateMerge(allowsUnknownQuery)
  )
  // Unauthenticated endpoints have a small limit.
  .annotateEndpoints(BodyBytes, 16_384)
  .middleware(Validation)
  .annotateMerge(refusesUnknownQuery)
  .annotateMerge(OpenApi.annotations({ title: "Sign-in" })) {}

export class MeGroup extends HttpApiGroup.make("me")
  .add(
    HttpApiEndpoint.get("read", "/auth/me", { success: User, error: errors(500, 503) }).annotateMerge(
      summary("Read the signed-in user")
    ),
    HttpApiEndpoint.get("sessions", "/auth/sessions", {
      success: list("SessionList", Session),
      error: errors(500, 503)
    }).annotateMerge(summary("List your sessions, newest first")),
    HttpApiEndpoint.delete("revoke", "/auth/sessions/:session_id", {
      params: { session_id: Schema.String },
      success: Done,
      error: errors(404, 500, 503)
    }).annotateMerge(summary("End one of your sessions"))
  )
  .middleware(Validation)
  .middleware(SessionAuthorization)
  .annotateMerge(refusesUnknownQuery)
  .annotateMerge(OpenApi.annotations({ title: "Signed-in user" })) {}
