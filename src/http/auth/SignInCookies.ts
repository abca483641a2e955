/**
 * The cookies of sign-in: the refresh token, and for each OAuth flow the secret of the browser that
 * started it. Scripts cannot read them and other sites cannot send them. Each flow has its own
 * cookie, so that two tabs do not interfere.
 */
import { Duration } from "effect"
import { type Cookies, HttpServerResponse } from "effect/http"
import { createHash } from "node:crypto"

// Browsers accept cookies with this prefix from secure pages only, so an insecure page cannot
// replace them.
const REFRESH = "__Secure-tollgate_refresh"
const FLOW = "__Secure-tollgate_flow_"

const attributes = (path: string, seconds: number): Cookies.Cookie["options"] => ({
  httpOnly: true,
  secure: true,
  sameSite: "lax",
  path,
  maxAge: Duration.seconds(seconds)
})

type Sent = Readonly<Record<string, string | undefined>>

export const refreshCookie = (cookies: Sent): string | null => cookies[REFRESH] ?? null

export const setRefreshCookie = (
  response: HttpServerResponse.HttpServerResponse,
  token: string,
  seconds: number
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.setCookieUnsafe(response, REFRESH, token, attributes("/auth", seconds))

export const clearRefreshCookie = (
  response: HttpServerResponse.HttpServerResponse
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.setCookieUnsafe(response, REFRESH, "", attributes("/auth", 0))

const flowCookie = (state: string): string => FLOW + createHash("sha256").update(state).digest("hex").slice(0, 16)

/** The secrets of all flows that the browser sent. */
export const flowSecrets = (cookies: Sent): ReadonlyArray<string> =>
  Object.entries(cookies).flatMap(([name, value]) => (name.startsWith(FLOW) && value !== undefined ? [value] : []))

export const setFlowCookie = (
  response: HttpServerResponse.HttpServerResponse,
  state: string,
  secret: string,
  seconds: number
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.setCookieUnsafe(response, flowCookie(state), secret, attributes("/auth/oauth", seconds))

export const clearFlowCookie = (
  response: HttpServerResponse.HttpServerResponse,
  state: string
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.setCookieUnsafe(response, flowCookie(state), "", attributes("/auth/oauth", 0))
