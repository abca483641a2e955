/**
 * Identity providers over sockets: OIDC servers that let the test choose who signs in, and one like
 * GitHub.
 */
import { Effect } from "effect"
import { createHash, randomUUID } from "node:crypto"
import { createServer, type IncomingMessage } from "node:http"
import { Events, OAuth2Server } from "oauth2-mock-server"
import { listening } from "./listening.ts"

/** Claims of the user who signs in. Claims set here go into the ID token. */
export type Claims = Record<string, unknown>

/** The claims of an ID token under another header, signed in another way. */
export const forged = (idToken: string, header: object, sign: (signed: string) => string): string => {
  const signed = `${Buffer.from(JSON.stringify(header)).toString("base64url")}.${idToken.split(".")[1]}`
  return `${signed}.${sign(signed)}`
}

export const startOidcServer = Effect.gen(function* () {
  const server = new OAuth2Server()
  let claims: Claims = {}
  let lie = (idToken: string): string => idToken
  server.service.on(Events.BeforeResponse, ({ body }: { body: { id_token?: string } }) => {
    if (body.id_token !== undefined) body.id_token = lie(body.id_token)
  })
  // It announces every method of authentication, so that none is refused for that alone.
  server.service.on(Events.BeforeWellKnownOpenIdConfiguration, ({ body }: { body: Claims }) => {
    body["id_token_signing_alg_values_supported"] = ["RS256", "ES256", "HS256", "none"]
  })
  server.service.on(Events.BeforeTokenSigning, (token: { payload: Claims }) => Object.assign(token.payload, claims))
  yield* Effect.acquireRelease(
    Effect.promise(async () => {
      await server.issuer.keys.generate("RS256")
      await server.start(0, "127.0.0.1")
      // By default it would announce a host name that may resolve elsewhere.
      server.issuer.url = `http://127.0.0.1:${server.address().port}`
    }),
    () => Effect.promise(() => server.stop().catch(() => undefined))
  )
  return {
    issuer: server.issuer.url ?? "",
    service: server.service,
    stop: Effect.promise(() => server.stop()),
    signsIn: (next: Claims): void => {
      claims = next
    },
    /** Replaces the ID tokens that it issues. */
    lies: (next: (idToken: string) => string): void => {
      lie = next
    }
  }
})

export interface GitHubUser {
  readonly id: number
  readonly emails: ReadonlyArray<{ readonly email: string; readonly primary: boolean; readonly verified: boolean }>
}

/**
 * github.com as a GitHub Enterprise Server serves it: authorize, access_token with PKCE, user and
 * emails.
 */
export const startGitHub = Effect.gen(function* () {
  let user: GitHubUser = { id: 1, emails: [] }
  const codes = new Map<string, { readonly challenge: string; readonly redirectUri: string }>()
  const answer = async (request: IncomingMessage) => {
    const url = new URL(request.url ?? "", "http://127.0.0.1")
    const query = url.searchParams
    if (url.pathname === "/login/oauth/authorize") {
      const code = randomUUID()
      codes.set(code, { challenge: query.get("code_challenge") ?? "", redirectUri: query.get("redirect_uri") ?? "" })
      const back = new URL(query.get("redirect_uri") ?? "")
      back.search = new URLSearchParams({ code, state: query.get("state") ?? "" }).toString()
      return { status: 302, location: back.href, body: {} }
    }
    if (url.pathname === "/login/oauth/access_token") {
      const chunks = await request.toArray()
      const form = new URLSearchParams(Buffer.concat(chunks).toString())
      const known = codes.get(form.get("code") ?? "")
      codes.delete(form.get("code") ?? "")
      const verifier = createHash("sha256")
        .update(form.get("code_verifier") ?? "")
        .digest("base64url")
      const good =
        known?.challenge === verifier &&
        known.redirectUri === form.get("redirect_uri") &&
        form.get("client_secret") === "github-secret"
      // GitHub reports this error with status 200.
      if (!good) return { status: 200, body: { error: "bad_verification_code" } }
      return { status: 200, body: { access_token: "gho_token", token_type: "bearer", scope: "user:email" } }
    }
    if (request.headers.authorization !== "Bearer gho_token") return { status: 401, body: {} }
    if (url.pathname === "/api/v3/user") return { status: 200, body: { id: user.id, login: "octocat", email: null } }
    if (url.pathname === "/api/v3/user/emails") return { status: 200, body: user.emails }
    return { status: 404, body: {} }
  }
  const server = createServer((request, response) => {
    void answer(request).then(({ body, location, status }: { status: number; body: object; location?: string }) => {
      response.writeHead(status, {
        "content-type": "application/json; charset=utf-8",
        ...(location === undefined ? {} : { location })
      })
      response.end(JSON.stringify(body))
    })
  })
  const base = yield* listening(server)
  return {
    base,
    signsIn: (next: GitHubUser): void => {
      user = next
    }
  }
})
