/** Sign-in by identity providers, over sockets, in a browser; and attacks on it. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { createHmac, generateKeyPairSync, sign } from "node:crypto"
import { UserAdmin } from "../../src/gateway/signin/UserAdmin.ts"
import { noSignIn, type SignInSettings } from "../../src/settings/sections/SignIn.ts"
import { TestApp } from "../support/TestApp.ts"
import { Browser, type Page } from "./Browser.ts"
import { forged, startGitHub, startOidcServer } from "./identityServers.ts"

const client = (issuer: string, secret = "secret") => ({
  clientId: "tollgate-client",
  clientSecret: Redacted.make(secret),
  issuer
})

const servers = Effect.all({ google: startOidcServer, okta: startOidcServer, github: startGitHub })
type Servers = Effect.Success<typeof servers>

/** A gateway with three identity providers, each with its own server. */
const withApp = <A, E>(
  test: (world: Servers & { readonly url: string }) => Effect.Effect<A, E, TestApp | UserAdmin | Scope.Scope>,
  auth: Partial<SignInSettings> = {}
) =>
  Effect.gen(function* () {
    const started = yield* servers
    const settings = {
      auth: {
        ...noSignIn,
        oauth: {
          google: client(started.google.issuer),
          okta: client(started.okta.issuer),
          github: client(started.github.base, "github-secret")
        },
        redirects: ["/console", "https://app.example.com/signed-in?theme=dark"],
        ...auth
      }
    }
    // The servers use the real time, and their tokens are checked by it.
    yield* TestClock.setTime(Date.now())
    return yield* Effect.flatMap(TestApp, ({ url }) => test({ ...started, url })).pipe(
      Effect.provide(TestApp.layer({ providers: [], settings }))
    )
  }).pipe(Effect.scoped)

const go = (browser: Browser, path: string, redirects?: number) =>
  Effect.promise(() => browser.visit(path, redirects === undefined ? {} : { redirects }))

const codeOf = (page: Page) => {
  const { error } = page.json() as { error: { code: string } }
  return [page.status, error.code]
}

interface Answer {
  readonly access_token: string
  readonly refresh_token: string
  readonly user: { readonly id: string; readonly email: string | null; readonly identities: ReadonlyArray<object> }
}
const answerOf = (page: Page): Answer => {
  assert.strictEqual(page.status, 200, page.text)
  return page.json() as Answer
}

const anna = { sub: "anna-1", email: "Anna@Example.com", email_verified: true }

describe("a browser", () => {
  it.effect("signs in by an OIDC provider: redirect, callback, tokens and cookie", () =>
    withApp(({ google, url }) =>
      Effect.gen(function* () {
        google.signsIn(anna)
        const browser = new Browser(url)
        const page = yield* go(browser, "/auth/oauth/google/start")
        const { access_token, user } = answerOf(page)
        assert.strictEqual(user.email, "anna@example.com")
        assert.deepInclude(user.identities[0], { provider: "google", subject: "anna-1", email: "anna@example.com" })

        const [, authorize = "", back = ""] = browser.visited
        const asked = new URL(authorize).searchParams
        assert.strictEqual(asked.get("redirect_uri"), `${url}/auth/oauth/google/callback`)
        assert.strictEqual(asked.get("code_challenge_method"), "S256")
        for (const name of ["state", "nonce", "code_challenge"]) assert.lengthOf(asked.get(name) ?? "", 43, name)
        assert.isTrue(back.startsWith(`${url}/auth/oauth/google/callback?`))

        assert.isTrue(
          browser.attributesOf("__Secure-tollgate_refresh")?.includes("Path=/auth; HttpOnly; Secure; SameSite=Lax")
        )
        assert.deepStrictEqual(Object.keys(browser.cookies("/auth/oauth/x")), ["__Secure-tollgate_refresh"])
        const me = yield* Effect.promise(() =>
          browser.script("/auth/me", { headers: { authorization: `Bearer ${access_token}` } })
        )
        assert.deepStrictEqual(me.json(), user)
      })
    )
  )

  it.effect("signs in by GitHub, which does not speak OIDC; its primary verified address counts", () =>
    withApp(({ github, url }) =>
      Effect.gen(function* () {
        github.signsIn({
          id: 4711,
          emails: [
            { email: "other@example.com", primary: false, verified: true },
            { email: "Octo@Example.com", primary: true, verified: true }
          ]
        })
        const { user } = answerOf(yield* go(new Browser(url), "/auth/oauth/github/start"))
        assert.strictEqual(user.email, "octo@example.com")
        assert.deepInclude(user.identities[0], { provider: "github", subject: "4711" })
        github.signsIn({ id: 4712, emails: [{ email: "x@example.com", primary: true, verified: false }] })
        assert.isNull(answerOf(yield* go(new Browser(url), "/auth/oauth/github/start")).user.email)
      })
    )
  )

  it.effect("is redirected to an allowed target, with the refresh token in the cookie only", () =>
    withApp(({ google, url }) =>
      Effect.gen(function* () {
        google.signsIn(anna)
        const browser = new Browser(url)
        const place = encodeURIComponent("https://app.example.com/signed-in?theme=dark")
        const page = yield* go(browser, `/auth/oauth/google/start?redirect_to=${place}`, 2)
        assert.strictEqual(page.status, 302)
        assert.strictEqual(page.headers.get("location"), "https://app.example.com/signed-in?theme=dark")
        assert.strictEqual(page.text, "")
        const refreshed = yield* Effect.promise(() => browser.script("/auth/refresh", { method: "POST" }))
        const { refresh_token, user } = answerOf(refreshed)
        assert.deepStrictEqual([refresh_token, user.email], [null, "anna@example.com"])

        // A user who declines is redirected there too.
        const other = new Browser(url)
        const started = yield* go(other, "/auth/oauth/google/start?redirect_to=%2Fconsole", 0)
        const state = new URL(started.headers.get("location") ?? "").searchParams.get("state")
        const denied = yield* go(other, `/auth/oauth/google/callback?error=access_denied&state=${state}`, 0)
        assert.deepStrictEqual(
          [denied.status, denied.headers.get("location")],
          [302, "/console?error=sign_in_failed&error_code=oauth_denied"]
        )
        assert.deepStrictEqual(other.cookies("/auth"), {})
      })
    )
  )

  it.effect("may sign in in two tabs at the same time", () =>
    withApp(({ google, url }) =>
      Effect.gen(function* () {
        google.signsIn(anna)
        const browser = new Browser(url)
        const starts = [
          yield* go(browser, "/auth/oauth/google/start", 1),
          yield* go(browser, "/auth/oauth/google/start", 1)
        ]
        for (const start of starts) answerOf(yield* go(browser, start.headers.get("location") ?? ""))
      })
    )
  )

  it.effect("gets the redirect's target as JSON when it asks for it", () =>
    withApp(({ okta, url }) =>
      Effect.gen(function* () {
        okta.signsIn(anna)
        const browser = new Browser(url)
        const told = yield* Effect.promise(() =>
          browser.script("/auth/oauth/okta/start", { headers: { accept: "application/json" } })
        )
        const { authorization_url, expires_in } = told.json() as { authorization_url: string; expires_in: number }
        assert.deepStrictEqual([told.status, expires_in], [200, 600])
        answerOf(yield* go(browser, authorization_url))
      })
    )
  )
})

describe("users", () => {
  it.effect("are the same for all verified methods of one address, in any order", () =>
    withApp(({ github, google, url }) =>
      Effect.gen(function* () {
        google.signsIn(anna)
        const first = answerOf(yield* go(new Browser(url), "/auth/oauth/google/start")).user
        github.signsIn({ id: 1, emails: [{ email: "anna@example.com", primary: true, verified: true }] })
        const second = answerOf(yield* go(new Browser(url), "/auth/oauth/github/start")).user
        assert.strictEqual(second.id, first.id)
        assert.lengthOf(second.identities, 2)
        // An identity keeps its user when its address changes owner.
        google.signsIn({ ...anna, email: "somebody@example.com" })
        assert.strictEqual(answerOf(yield* go(new Browser(url), "/auth/oauth/google/start")).user.id, first.id)
      })
    )
  )

  it.effect("cannot be taken over by an unverified address, before or after their owner signs in", () =>
    withApp(({ google, okta, url }) =>
      Effect.gen(function* () {
        const members = yield* UserAdmin
        // The attacker comes first, with a provider that lets them claim any address.
        okta.signsIn({ sub: "thief", email: "anna@example.com", email_verified: false })
        const thief = answerOf(yield* go(new Browser(url), "/auth/oauth/okta/start"))
        assert.isNull(thief.user.email)
        google.signsIn(anna)
        const owner = answerOf(yield* go(new Browser(url), "/auth/oauth/google/start"))
        assert.notStrictEqual(owner.user.id, thief.user.id)
        assert.lengthOf((yield* members.get(owner.user.id)).identities, 1)
        // The attacker comes again, now that the user exists.
        for (const claim of [{ email_verified: undefined }, { email_verified: "false" }, { email_verified: 1 }]) {
          okta.signsIn({ sub: "thief-2", email: "anna@example.com", ...claim })
          assert.notStrictEqual(answerOf(yield* go(new Browser(url), "/auth/oauth/okta/start")).user.id, owner.user.id)
        }
      })
    )
  )

  it.effect("are not found by a verified address that only looks like theirs, but by any form of their own", () =>
    withApp(({ github, google, okta, url }) =>
      Effect.gen(function* () {
        google.signsIn({ sub: "karl", email: "karl@example.com", email_verified: true })
        const karl = answerOf(yield* go(new Browser(url), "/auth/oauth/google/start")).user
        const lookalikes = [
          "\u212Aarl@example.com",
          "karl\u200b@example.com",
          '"karl"@example.com',
          "x,karl@example.com"
        ]
        for (const [index, email] of lookalikes.entries()) {
          okta.signsIn({ sub: `thief-${index}`, email, email_verified: true })
          const thief = answerOf(yield* go(new Browser(url), "/auth/oauth/okta/start")).user
          assert.notStrictEqual(thief.id, karl.id, email)
          assert.isNull(thief.email, email)
        }
        github.signsIn({ id: 1, emails: [{ email: "\u212Aarl@example.com", primary: true, verified: true }] })
        assert.isNull(answerOf(yield* go(new Browser(url), "/auth/oauth/github/start")).user.email)
        okta.signsIn({ sub: "karl", email: "KARL@EXAMPLE.COM", email_verified: true })
        assert.strictEqual(answerOf(yield* go(new Browser(url), "/auth/oauth/okta/start")).user.id, karl.id)
      })
    )
  )

  it.effect("who are admins get a new identity only with a session of that admin in the same browser", () =>
    withApp(({ github, google, okta, url }) =>
      Effect.gen(function* () {
        const members = yield* UserAdmin
        // Granted before the first sign-in: there is nothing to take over yet.
        const { user } = yield* members.grantAdmin("anna@example.com")
        google.signsIn(anna)
        const own = new Browser(url)
        assert.strictEqual(answerOf(yield* go(own, "/auth/oauth/google/start")).user.id, user.id)

        okta.signsIn(anna)
        const required = [400, "oauth_admin_session_required"]
        const other = new Browser(url)
        assert.deepStrictEqual(codeOf(yield* go(other, "/auth/oauth/okta/start")), required)
        const page = yield* go(other, "/auth/oauth/okta/start?redirect_to=%2Fconsole", 2)
        assert.include(page.headers.get("location") ?? "", "error_code=oauth_admin_session_required")
        // Neither the session of another user nor an ended one of the admin is proof.
        github.signsIn({ id: 1, emails: [{ email: "eve@example.com", primary: true, verified: true }] })
        answerOf(yield* go(other, "/auth/oauth/github/start"))
        assert.deepStrictEqual(codeOf(yield* go(other, "/auth/oauth/okta/start")), required)
        const ended = new Browser(url)
        const { refresh_token } = answerOf(yield* go(ended, "/auth/oauth/google/start"))
        const body = { refresh_token }
        yield* Effect.promise(() => new Browser(url).script("/auth/logout", { body }))
        assert.deepStrictEqual(codeOf(yield* go(ended, "/auth/oauth/okta/start")), required)
        assert.lengthOf((yield* members.get(user.id)).identities, 2)

        assert.strictEqual(answerOf(yield* go(own, "/auth/oauth/okta/start")).user.id, user.id)
        // From now on the identity is known, in any browser.
        assert.strictEqual(answerOf(yield* go(new Browser(url), "/auth/oauth/okta/start")).user.id, user.id)
      })
    )
  )

  it.effect("are created for the allowed domains only, by verified addresses", () =>
    withApp(
      ({ google, okta, url }) =>
        Effect.gen(function* () {
          for (const claim of [
            { sub: "1", email: "eve@evil.example", email_verified: true },
            { sub: "2", email: "eve@example.com", email_verified: false }
          ]) {
            okta.signsIn(claim)
            const page = yield* go(new Browser(url), "/auth/oauth/okta/start")
            assert.deepStrictEqual(codeOf(page), [403, "sign_up_refused"], claim.sub)
          }
          google.signsIn(anna)
          assert.strictEqual(
            answerOf(yield* go(new Browser(url), "/auth/oauth/google/start")).user.email,
            "anna@example.com"
          )
        }),
      { allowedDomains: ["example.com"] }
    )
  )

  it.effect("who are suspended cannot sign in", () =>
    withApp(({ google, url }) =>
      Effect.gen(function* () {
        google.signsIn(anna)
        const { user } = answerOf(yield* go(new Browser(url), "/auth/oauth/google/start"))
        yield* Effect.flatMap(UserAdmin, (members) => members.change(user.id, { state: "suspended" }))
        assert.deepStrictEqual(codeOf(yield* go(new Browser(url), "/auth/oauth/google/start")), [403, "user_suspended"])
      })
    )
  )
})

describe("attacks", () => {
  it.effect("an open redirect: only listed targets are accepted, in no disguise", () =>
    withApp(({ url }) =>
      Effect.gen(function* () {
        const places = [
          "https://evil.example",
          "//evil.example",
          "/\\evil.example",
          "/console/../../evil",
          "/console?next=//evil.example",
          "https://app.example.com/signed-in",
          "https://app.example.com/signed-in?theme=dark#x",
          "https://app.example.com.evil.example/signed-in?theme=dark",
          "https://app.example.com@evil.example/",
          "HTTPS://app.example.com/signed-in?theme=dark",
          " /console",
          "javascript:alert(1)",
          ""
        ]
        for (const place of places) {
          const path = `/auth/oauth/google/start?redirect_to=${encodeURIComponent(place)}`
          const page = yield* go(new Browser(url), path, 0)
          assert.deepStrictEqual(codeOf(page), [400, "oauth_redirect_not_allowed"], place)
        }
      })
    )
  )

  it.effect("a fixed state: a flow can only be finished by the browser that started it", () =>
    withApp(({ google, url }) =>
      Effect.gen(function* () {
        google.signsIn({ sub: "thief", email: "thief@example.com", email_verified: true })
        const thief = new Browser(url)
        const back = (yield* go(thief, "/auth/oauth/google/start", 1)).headers.get("location") ?? ""
        const victim = new Browser(url)
        assert.deepStrictEqual(codeOf(yield* go(victim, back)), [400, "oauth_invalid_state"])
        assert.deepStrictEqual(victim.cookies("/auth"), {})
        // Nor with a flow of its own that is open at the same time.
        const again = (yield* go(thief, "/auth/oauth/google/start", 1)).headers.get("location") ?? ""
        yield* go(victim, "/auth/oauth/google/start", 0)
        assert.deepStrictEqual(codeOf(yield* go(victim, again)), [400, "oauth_invalid_state"])
      })
    )
  )

  it.effect("a state works once, for ten minutes, and only if it was issued", () =>
    withApp(({ google, url }) =>
      Effect.gen(function* () {
        google.signsIn(anna)
        const browser = new Browser(url)
        const back = (yield* go(browser, "/auth/oauth/google/start", 1)).headers.get("location") ?? ""
        answerOf(yield* go(browser, back))
        assert.deepStrictEqual(codeOf(yield* go(browser, back)), [400, "oauth_invalid_state"])
        const late = (yield* go(browser, "/auth/oauth/google/start", 1)).headers.get("location") ?? ""
        yield* TestClock.adjust("10 minutes")
        assert.deepStrictEqual(codeOf(yield* go(browser, late)), [400, "oauth_invalid_state"])
        for (const query of ["", "?code=x", "?code=x&state=", "?state=made-up&code=x", "?state=a&state=b&code=x"]) {
          const page = yield* go(browser, `/auth/oauth/google/callback${query}`)
          assert.deepStrictEqual(codeOf(page), [400, "oauth_invalid_state"], query)
        }
      })
    )
  )

  it.effect("a mix-up: a response of one provider to a flow of another", () =>
    withApp(({ google, okta, url }) =>
      Effect.gen(function* () {
        google.signsIn(anna)
        okta.signsIn(anna)
        const browser = new Browser(url)
        const back = new URL((yield* go(browser, "/auth/oauth/okta/start", 1)).headers.get("location") ?? "")
        const mixed = `/auth/oauth/google/callback${back.search}`
        assert.deepStrictEqual(codeOf(yield* go(browser, mixed)), [400, "oauth_invalid_state"])
        // An issuer that is named in the response must be the one of the flow.
        const named = new URL((yield* go(browser, "/auth/oauth/google/start", 1)).headers.get("location") ?? "")
        named.searchParams.set("iss", okta.issuer)
        assert.deepStrictEqual(codeOf(yield* go(browser, named.href)), [400, "oauth_not_proved"])
      })
    )
  )

  it.effect("a code of another flow: PKCE and nonce belong to the flow that was started here", () =>
    withApp(({ github, google, url }) =>
      Effect.gen(function* () {
        google.signsIn({ sub: "victim", email: "victim@example.com", email_verified: true })
        github.signsIn({ id: 1, emails: [] })
        for (const provider of ["google", "github"]) {
          const [victim, thief] = [new Browser(url), new Browser(url)]
          const start = `/auth/oauth/${provider}/start`
          const stolen = new URL((yield* go(victim, start, 1)).headers.get("location") ?? "")
          const own = new URL((yield* go(thief, start, 1)).headers.get("location") ?? "")
          own.searchParams.set("code", stolen.searchParams.get("code") ?? "")
          assert.deepStrictEqual(codeOf(yield* go(thief, own.href)), [400, "oauth_not_proved"], provider)
        }
      })
    )
  )

  it.effect("a forged token: another nonce, audience or issuer, or an expired one", () =>
    withApp(({ google, url }) =>
      Effect.gen(function* () {
        const forgeries = [
          { nonce: "another" },
          { aud: "another-client" },
          { iss: "https://another.example" },
          { exp: 1 },
          { iat: Math.floor(Date.now() / 1000) - 3_600 },
          { iat: Math.floor(Date.now() / 1000) + 3_600 },
          { iat: 9_000_000_000, exp: 9_000_000_100 },
          { iat: undefined },
          { azp: "another-client" },
          { aud: ["tollgate-client", "another-client"] },
          { sub: "" },
          { sub: 17 }
        ]
        for (const forged of forgeries) {
          google.signsIn({ ...anna, ...forged })
          const page = yield* go(new Browser(url), "/auth/oauth/google/start")
          assert.strictEqual(page.status, 400, JSON.stringify(forged))
          assert.deepStrictEqual(codeOf(page), [400, "oauth_not_proved"], JSON.stringify(forged))
        }
      })
    )
  )
})

it.effect("a token that the provider's published keys have not signed is rejected", () =>
  withApp(({ google, url }) =>
    Effect.gen(function* () {
      google.signsIn(anna)
      const hmac = (key: string) => (signed: string) => createHmac("sha256", key).update(signed).digest("base64url")
      const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 })
      const { kid } = google.service.issuer.keys.toJSON()[0] ?? { kid: "" }
      const lies: Readonly<Record<string, (idToken: string) => string>> = {
        "a broken signature": (token) => token.replace(/.{8}$/, "AAAAAAAA"),
        "another key under the same name": (token) =>
          forged(token, { alg: "RS256", kid }, (signed) =>
            sign("sha256", Buffer.from(signed), privateKey).toString("base64url")
          ),
        "a key that is not published": (token) =>
          forged(token, { alg: "RS256", kid: "unknown" }, (signed) =>
            sign("sha256", Buffer.from(signed), privateKey).toString("base64url")
          ),
        none: (token) => forged(token, { alg: "none" }, () => ""),
        None: (token) => forged(token, { alg: "None", kid }, () => ""),
        "the client's secret": (token) => forged(token, { alg: "HS256" }, hmac("secret")),
        "another algorithm than the key's": (token) => forged(token, { alg: "ES256", kid }, () => "A".repeat(86))
      }
      for (const [name, lie] of Object.entries(lies)) {
        google.lies(lie)
        const page = yield* go(new Browser(url), "/auth/oauth/google/start")
        assert.deepStrictEqual(codeOf(page), [400, "oauth_not_proved"], name)
      }
      google.lies((idToken) => idToken)
      answerOf(yield* go(new Browser(url), "/auth/oauth/google/start"))
    })
  )
)

it.effect("a user who declines, or whom the provider refuses, gets an error without the cause", () =>
  withApp(({ google, url }) =>
    Effect.gen(function* () {
      google.signsIn(anna)
      const browser = new Browser(url)
      const started = yield* go(browser, "/auth/oauth/google/start", 0)
      const state = new URL(started.headers.get("location") ?? "").searchParams.get("state")
      const query = `error=access_denied&error_description=%3Cscript%3E&state=${state}`
      const denied = yield* go(browser, `/auth/oauth/google/callback?${query}`)
      assert.deepStrictEqual(codeOf(denied), [400, "oauth_denied"])
      assert.notInclude(denied.text, "script")
      assert.deepStrictEqual(browser.cookies("/auth/oauth/google"), {})
    })
  )
)

it.effect("a network address may start thirty flows a minute", () =>
  withApp(({ url }) =>
    Effect.gen(function* () {
      const starts = yield* Effect.forEach(Array.from({ length: 31 }), () =>
        go(new Browser(url), "/auth/oauth/github/start", 0)
      )
      assert.deepStrictEqual(
        starts.map(({ status }) => status),
        [...Array.from({ length: 30 }, () => 302), 429]
      )
    })
  )
)

it.effect("422 for an unknown provider; a retryable 503 for one that does not answer", () =>
  withApp(({ okta, url }) =>
    Effect.gen(function* () {
      const unknown = yield* go(new Browser(url), "/auth/oauth/myspace/start")
      const { detail } = unknown.json() as { detail: ReadonlyArray<object> }
      assert.strictEqual(unknown.status, 422)
      assert.deepStrictEqual(detail, [
        {
          loc: ["path", "provider"],
          msg: "Input should be 'google', 'okta' or 'github': no other OAuth provider is configured. The operator of this gateway can configure one under `auth.oauth` of the settings",
          type: "literal_error",
          input: "myspace",
          ctx: { expected: "'google', 'okta' or 'github'" }
        }
      ])
      const browser = new Browser(url)
      okta.signsIn(anna)
      const back = (yield* go(browser, "/auth/oauth/okta/start", 1)).headers.get("location") ?? ""
      yield* okta.stop
      const page = yield* go(browser, back)
      assert.deepStrictEqual(codeOf(page), [503, "identity_provider_unavailable"])
    })
  )
)
