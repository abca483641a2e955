/**
 * The `auth` section of the settings file: how people sign in (contract §12). `google` and `github` are known by name; any other
 * OAuth provider is an OIDC issuer and has to say which. Secrets are `Redacted`.
 */
import { type Redacted, Result, Schema } from "effect"
import { decodeAt, type Faults, member, type Place, renderPath } from "./Faults.ts"
import { httpUrl, isUrlOf, secret, text, withoutTrailingSlash } from "./Forms.ts"

export interface OAuthClient {
  readonly clientId: string
  readonly clientSecret: Redacted.Redacted
  /** `null`: the provider's well-known one. */
  readonly issuer: string | null
}

export interface SignInSettings {
  /** The address under which people reach this gateway, named in its tokens; `null`: where it listens. */
  readonly issuer: string | null
  /** By the name that stands in `/auth/{provider}`. */
  readonly oauth: Readonly<Record<string, OAuthClient>>
  /** `null`: no codes by mail. */
  readonly email: { readonly smtpUrl: Redacted.Redacted } | null
  /** A Twilio-shaped service; `null`: no codes by SMS. */
  readonly sms: {
    readonly baseUrl: string
    readonly account: string
    readonly token: Redacted.Redacted
    readonly from: string
  } | null
}

export const noSignIn: SignInSettings = { issuer: null, oauth: {}, email: null, sms: null }

const issuer = httpUrl("https://gateway.example.com")

const SignInSection = Schema.Struct({
  issuer: Schema.optionalKey(issuer),
  oauth: Schema.optionalKey(
    Schema.Record(
      Schema.String,
      Schema.Struct({
        client_id: text("the client id that the provider gave"),
        client_secret: secret("the client secret that the provider gave"),
        issuer: Schema.optionalKey(issuer)
      })
    )
  ),
  email: Schema.optionalKey(
    Schema.Struct({ smtp_url: secret("smtp://user:password@host:587 or smtps://…", isUrlOf(["smtp:", "smtps:"])) })
  ),
  sms: Schema.optionalKey(
    Schema.Struct({
      base_url: httpUrl("https://api.twilio.com"),
      account: text("the account's name or id"),
      token: secret("the account's token"),
      from: text("the sender's number or name, such as +15550100")
    })
  )
})
type SignInSection = typeof SignInSection.Type

const knownProviders = ["google", "github"]

/** Decodes the section at `place`. */
export const decodeSignIn = (place: Place): Result.Result<SignInSettings, Faults> =>
  Result.flatMap(decodeAt(SignInSection, place), (section) => {
    const faults = namelessProviders(section, place)
    return faults.length === 0 ? Result.succeed(signInOf(section)) : Result.fail(faults)
  })

const signInOf = (section: SignInSection): SignInSettings => ({
  issuer: section.issuer === undefined ? null : withoutTrailingSlash(section.issuer),
  oauth: Object.fromEntries(
    Object.entries(section.oauth ?? {}).map(([name, client]) => [
      name,
      { clientId: client.client_id, clientSecret: client.client_secret, issuer: client.issuer ?? null }
    ])
  ),
  email: section.email === undefined ? null : { smtpUrl: section.email.smtp_url },
  sms:
    section.sms === undefined
      ? null
      : {
          baseUrl: withoutTrailingSlash(section.sms.base_url),
          account: section.sms.account,
          token: section.sms.token,
          from: section.sms.from
        }
})

const namelessProviders = (section: SignInSection, place: Place): Faults =>
  Object.entries(section.oauth ?? {}).flatMap(([name, client]) => {
    const setting = renderPath(member(member(place, "oauth"), name).path)
    if (!/^[a-z0-9][a-z0-9-]*$/.test(name)) {
      return [{ setting, problem: "is not a provider's name", expected: "lower-case letters, digits and dashes" }]
    }
    if (client.issuer !== undefined || knownProviders.includes(name)) return []
    const expected = `the OIDC issuer's address, which only ${knownProviders.join(" and ")} can do without`
    return [{ setting: `${setting}.issuer`, problem: "is missing", expected }]
  })
