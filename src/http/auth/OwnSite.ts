/**
 * Whether a browser sent a request for the gateway's own pages. Browsers say it in `Sec-Fetch-Site`, older ones in `Origin`; who says
 * neither is no browser, and carries no cookie that it was not given by hand. With `SameSite=Lax` on the cookie this is the second
 * lock on the door, and the one that also keeps others from signing a browser in to their own account.
 */
import { type HttpServerRequest } from "effect/http"

/** `publicUrl`: where people reach the gateway. */
export const isOwnSite = ({ headers }: HttpServerRequest.HttpServerRequest, publicUrl: string): boolean => {
  const site = headers["sec-fetch-site"]
  if (site !== undefined) return site === "same-origin" || site === "none"
  const origin = headers["origin"]
  if (origin === undefined) return true
  const sender = URL.parse(origin)
  return sender !== null && (sender.origin === new URL(publicUrl).origin || sender.host === headers["host"])
}
