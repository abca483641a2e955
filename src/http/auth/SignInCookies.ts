/**
 * The cookies of signing in, which no script can read and no other site can send: the refresh token, and for each OAuth flow the proof
 * that it was this browser that began it. Flows have a cookie each, so that two tabs do not undo each other's.
 */
import { Duration } from "effect"
import { type Cookies, HttpServerResponse } from "effect/http"
import { createHash } from "node:crypto"

// Browsers take cookies of such a name from secure pages only, so that no other page can put one in their place.
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

/** Every flow's proof that a browser sent. */
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
