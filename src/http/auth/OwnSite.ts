/**
 * Whether a browser sent a request from the gateway's own pages. Browsers say so in
 * `Sec-Fetch-Site`, older ones in `Origin`. A client that sends neither is not a browser, and only
 * has the cookies that its user gave it. This complements `SameSite=Lax` on the cookie, and also
 * prevents other sites from signing a browser in to their own account.
 */
import { type HttpServerRequest } from "effect/http"

/** `publicUrl` is the public address of the gateway. */
export const isOwnSite = ({ headers }: HttpServerRequest.HttpServerRequest, publicUrl: string): boolean => {
  const site = headers["sec-fetch-site"]
  if (site !== undefined) return site === "same-origin" || site === "none"
  const origin = headers["origin"]
  if (origin === undefined) return true
  const sender = URL.parse(origin)
  return sender !== null && (sender.origin === new URL(publicUrl).origin || sender.host === headers["host"])
}
