/**
 * The `auth` section of the settings file: sign-in. `google` and `github` have well-known
 * addresses. Any other OAuth provider is an OIDC issuer and must be configured with its address.
 * Plain http is accepted only for issuers on this machine. Secrets are `Redacted`.
 */
import { Effect, Redacted, Result, Schema } from "effect"
import { fromString } from "effect/net/IpNetwork"
import { allScopes, Scope } from "../../domain/Key.ts"
import { nanoFromUsd } from "../../domain/pricing/Money.ts"
import { type Channel, type Grants } from "../../domain/User.ts"
import { decodeAt, type Faults, member, type Place, renderPath } from "../Faults.ts"
import { choice, httpUrl, integer, isUrlOf, number, orNull, secret, text, withoutTrailingSlash } from "../Forms.ts"

export interface OAuthClient {
  readonly clientId: string
  readonly clientSecret: Redacted.Redacted
  /**
   * `null`: the provider's well-known address. For `github`: the address of a GitHub Enterprise
   * Server.
   */
  readonly issuer: string | null
}

export interface SmsSettings {
  readonly baseUrl: string
  readonly account: string
  readonly token: Redacted.Redacted
  readonly from: string
  /** ISO 3166 codes of the countries to which codes are sent. */
  readonly countries: ReadonlyArray<string>
}

export interface SignInSettings {
  /** The public address of this gateway, named in its tokens; `null`: its listening address. */
  readonly issuer: string | null
  /** Enabled channels for codes; `null`: those configured and, in development, both. */
  readonly channels: ReadonlyArray<Channel> | null
  /** By the name in `/auth/oauth/{provider}`. */
  readonly oauth: Readonly<Record<string, OAuthClient>>
  /** `null`: no codes by e-mail. */
  readonly email: {
    readonly smtpUrl: Redacted.Redacted
    readonly from: string
    /**
     * Requires STARTTLS of an smtp:// server: otherwise codes and the password would be sent in the
     * clear.
     */
    readonly isTlsNeeded?: boolean
  } | null
  /** A service with Twilio's API; `null`: no codes by SMS. */
  readonly sms: SmsSettings | null
  /** Allowed redirect targets after an OAuth sign-in: addresses, or paths of this gateway. */
  readonly redirects: ReadonlyArray<string>
  /** Networks of proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies: ReadonlyArray<string>
  readonly accessTokenSeconds: number
  /** Lifetime of an unused session. */
  readonly sessionDays: number
  /** E-mail domains that may create accounts; `null`: all, and phone numbers too. */
  readonly allowedDomains: ReadonlyArray<string> | null
  /** Grants of new users. */
  readonly newUsers: Grants
  /** False if the budget of new users was not set: then it is 0 in production. */
  readonly isBudgetSet?: boolean
  readonly limits: {
    /** Codes sent to one destination. */
    readonly perDestinationHour: number
    /** Codes requested by one network address. */
    readonly perAddressMinute: number
    /** Codes sent in total. */
    readonly globalMinute: number
    /** Accounts created within any 24 hours, not counting those that admins create. */
    readonly newAccountsDay: number
  }
}

export const noSignIn: SignInSettings = {
  issuer: null,
  channels: null,
  oauth: {},
  email: null,
  sms: null,
  redirects: ["/console"],
  trustedProxies: [],
  accessTokenSeconds: 900,
  sessionDays: 30,
  allowedDomains: null,
  newUsers: { tier: "free", monthlyBudgetNano: nanoFromUsd(1), scopes: allScopes },
  limits: { perDestinationHour: 5, perAddressMinute: 10, globalMinute: 300, newAccountsDay: 100 }
}

const issuer = httpUrl("https://gateway.example.com")

/** A path of this gateway, or an address without credentials. */
const isRedirect = (target: string): boolean => {
  if (/^\/(?![/\\])[\w\-./~%?=&#]*$/.test(target)) return true
  const url = URL.parse(target)
  return url !== null && isUrlOf(["http:", "https:"])(target) && url.username === "" && url.password === ""
}
const redirect = text("an http:// or https:// address, or a path such as /console", isRedirect)
const network = text("a network, such as 10.0.0.0/8", (value) => Result.isSuccess(fromString(value)))
const country = text("the ISO code of a country, such as US", (value) => /^[A-Z]{2}$/.test(value))
const domain = text("a domain in lower case, such as example.com", (value) => /^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(value))
const perMinute = () => Schema.optionalKey(integer("a whole number from 1 to 1000000", 1, 1_000_000))
const budget = "USD a month from 0 to 1000000"

const SignInSection = Schema.Struct({
  issuer: Schema.optionalKey(issuer),
  channels: Schema.optionalKey(Schema.Array(choice(["email", "sms"]))),
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
    Schema.Struct({
      smtp_url: secret("smtp://user:password@host:587 or smtps://…", isUrlOf(["smtp:", "smtps:"])),
      starttls: Schema.optionalKey(choice(["required", "if_offered"])),
      from: Schema.optionalKey(
        text("a sender, such as Example <codes@example.com>", (from) => /^[^\r\n]*[^\s@<]+@[^\s@>]+>?$/.test(from))
      )
    })
  ),
  sms: Schema.optionalKey(
    Schema.Struct({
      base_url: httpUrl("https://api.twilio.com"),
      account: text("the account's name or id"),
      token: secret("the account's token"),
      from: text("the sender's number or name, such as +15550100"),
      countries: Schema.Array(country).pipe(Schema.withDecodingDefaultKey(Effect.succeed(["US", "CA"])))
    })
  ),
  redirects: Schema.optionalKey(Schema.Array(redirect)),
  trusted_proxies: Schema.optionalKey(Schema.Array(network)),
  access_token_seconds: Schema.optionalKey(integer("seconds, from 60 to 3600", 60, 3_600)),
  session_days: Schema.optionalKey(integer("days, from 1 to 365", 1, 365)),
  allowed_domains: Schema.optionalKey(Schema.Array(domain)),
  new_users: Schema.optionalKey(
    Schema.Struct({
      tier: Schema.optionalKey(choice(["free", "pro", "enterprise"])),
      monthly_budget_usd: Schema.optionalKey(orNull(number(budget, 0, 1_000_000), budget)),
      scopes: Schema.optionalKey(Schema.Array(choice(Scope.literals)))
    })
  ),
  limits: Schema.optionalKey(
    Schema.Struct({
      per_destination_hour: perMinute(),
      per_address_minute: perMinute(),
      global_minute: perMinute(),
      new_accounts_day: perMinute()
    })
  )
})
type SignInSection = typeof SignInSection.Type

const knownProviders = ["google", "github"]

/** Decodes the section at `place`. */
export const decodeSignIn = (place: Place): Result.Result<SignInSettings, Faults> =>
  Result.flatMap(decodeAt(SignInSection, place), (section) => {
    const faults = providerFaults(section, place)
    return faults.length === 0 ? Result.succeed(signInOf(section)) : Result.fail(faults)
  })

const signInOf = (section: SignInSection): SignInSettings => ({
  issuer: section.issuer === undefined ? null : withoutTrailingSlash(section.issuer),
  channels: section.channels ?? null,
  oauth: Object.fromEntries(
    Object.entries(section.oauth ?? {}).map(([name, client]) => [
      name,
      { clientId: client.client_id, clientSecret: client.client_secret, issuer: client.issuer ?? null }
    ])
  ),
  email:
    section.email === undefined
      ? null
      : {
          smtpUrl: section.email.smtp_url,
          from: section.email.from ?? "tollgate <no-reply@localhost>",
          isTlsNeeded:
            section.email.starttls !== "if_offered" &&
            !isLoopback(new URL(Redacted.value(section.email.smtp_url)).hostname)
        },
  sms: section.sms === undefined ? null : smsOf(section.sms),
  redirects: section.redirects ?? noSignIn.redirects,
  trustedProxies: section.trusted_proxies ?? noSignIn.trustedProxies,
  accessTokenSeconds: section.access_token_seconds ?? noSignIn.accessTokenSeconds,
  sessionDays: section.session_days ?? noSignIn.sessionDays,
  allowedDomains: section.allowed_domains ?? noSignIn.allowedDomains,
  newUsers: grantsOf(section.new_users ?? {}),
  isBudgetSet: section.new_users?.monthly_budget_usd !== undefined,
  limits: {
    perDestinationHour: section.limits?.per_destination_hour ?? noSignIn.limits.perDestinationHour,
    perAddressMinute: section.limits?.per_address_minute ?? noSignIn.limits.perAddressMinute,
    globalMinute: section.limits?.global_minute ?? noSignIn.limits.globalMinute,
    newAccountsDay: section.limits?.new_accounts_day ?? noSignIn.limits.newAccountsDay
  }
})

const smsOf = ({ account, base_url, countries, from, token }: NonNullable<SignInSection["sms"]>): SmsSettings => ({
  baseUrl: withoutTrailingSlash(base_url),
  account,
  token,
  from,
  countries
})

const grantsOf = (section: NonNullable<SignInSection["new_users"]>): Grants => ({
  tier: section.tier ?? noSignIn.newUsers.tier,
  monthlyBudgetNano:
    section.monthly_budget_usd === undefined
      ? noSignIn.newUsers.monthlyBudgetNano
      : section.monthly_budget_usd === null
        ? null
        : nanoFromUsd(section.monthly_budget_usd),
  scopes: section.scopes ?? noSignIn.newUsers.scopes
})

/**
 * Faults of OAuth providers: names that cannot be part of a path or that mean a channel, and
 * issuers that are missing or use plain http.
 */
const providerFaults = (section: SignInSection, place: Place): Faults =>
  Object.entries(section.oauth ?? {}).flatMap(([name, client]) => {
    const setting = renderPath(member(member(place, "oauth"), name).path)
    if (!/^[a-z0-9][a-z0-9-]*$/.test(name) || name === "email" || name === "sms") {
      return [
        {
          setting,
          problem: "is not a provider's name",
          expected: "lower-case letters, digits and dashes; not a channel"
        }
      ]
    }
    if (client.issuer !== undefined) {
      const url = new URL(client.issuer)
      const safe = url.protocol === "https:" || isLoopback(url.hostname)
      const expected = "an https:// address; http:// only on this machine"
      return safe ? [] : [{ setting: `${setting}.issuer`, problem: "is not safe", expected }]
    }
    if (knownProviders.includes(name)) return []
    const expected = `the OIDC issuer's address (optional only for ${knownProviders.join(" and ")})`
    return [{ setting: `${setting}.issuer`, problem: "is missing", expected }]
  })

/**
 * Anyone with an e-mail address can sign up, so in production new users get a budget of 0 unless
 * the settings give one.
 */
export const inProduction = (auth: SignInSettings): SignInSettings =>
  auth.isBudgetSet === true ? auth : { ...auth, newUsers: { ...auth.newUsers, monthlyBudgetNano: 0 } }

const isLoopback = (hostname: string): boolean => /^(127(\.\d+){3}|localhost|\[::1\])$/.test(hostname)

/**
 * Faults in production: channels without a configured service, which in development are replaced by
 * a mailbox, and OAuth without the gateway's public address.
 */
export const unsafeInProduction = ({ channels, email, issuer, oauth, sms }: SignInSettings): Faults => {
  const configured = { email: email !== null, sms: sms !== null }
  const expected = "an SMTP or SMS service in auth.email or auth.sms, or `channels: []` to send no codes"
  const problem = "is missing though TOLLGATE_ENV is production: codes would only show in the development mailbox"
  const unsent = (channels ?? []).filter((channel) => !configured[channel])
  return [
    ...(channels === null && !configured.email && !configured.sms
      ? [{ setting: "auth.email", problem, expected }]
      : []),
    ...unsent.map((channel) => ({ setting: `auth.${channel}`, problem, expected })),
    ...(issuer === null && Object.keys(oauth).length > 0
      ? [
          {
            setting: "auth.issuer",
            problem: "is missing though TOLLGATE_ENV is production and auth.oauth sends people back to it",
            expected: "the address under which people reach this gateway"
          }
        ]
      : [])
  ]
}
