/**
 * Sign-in by code or identity provider. The refresh token stays in an HttpOnly cookie. The console
 * holds only an access token of a few minutes, and fetches a new one when it expires.
 */
import { type Challenge, type ConsoleEntry, type Tokens } from "../api/signin/Auth.ts"
import { asFailure, call, renewal } from "./client.ts"
import { replacePage } from "./router.tsx"
import { enterAsAdmin, enterAsUser, leave, mayBeSignedIn, session, takeWanted } from "./session.ts"

export type Channel = "email" | "sms"

const names: Readonly<Record<string, string>> = { google: "Google", github: "GitHub" }

/** Display name of an identity provider. */
export const providerName = (provider: string): string => names[provider] ?? provider

export const sendCode = (channel: Channel, destination: string): Promise<typeof Challenge.Type> =>
  call(`/auth/register/${channel}/start`, {
    body: channel === "email" ? { email: destination } : { phone: destination.replaceAll(/[\s()./-]/g, "") }
  })

export const enterByCode = async (channel: Channel, challengeId: string, code: string): Promise<void> => {
  const body = { challenge_id: challengeId, code, refresh_token_in: "cookie" }
  const { access_token, user } = await call<Tokens>(`/auth/register/${channel}/verify`, { body })
  enterAsUser(user, access_token)
}

let renewing: Promise<boolean> | undefined

const renewOnce = async (): Promise<boolean> => {
  try {
    const { access_token, user } = await call<Tokens>("/auth/refresh", { method: "POST", isSignIn: true })
    enterAsUser(user, access_token)
    return true
  } catch (thrown) {
    const failure = asFailure(thrown)
    // A temporary failure does not end the session.
    if (failure.status === 401 || failure.isMissing) leave()
    return false
  }
}

/** Concurrent calls share one renewal, because a refresh token works only once. */
const renew = (): Promise<boolean> => {
  renewing ??= renewOnce().finally(() => (renewing = undefined))
  return renewing
}
renewal.renew = renew

/** The token of a one-time link, which leaves the address at once. */
const takeLink = (): string | null => {
  const token = /^#sign-in=([\w-]+)$/.exec(location.hash)?.[1]
  if (token === undefined) return null
  history.replaceState(history.state, "", location.pathname + location.search)
  return token
}

/**
 * Signs in by the one-time link in the address, if there is one. A reload stays signed in, because
 * the link works only once. A link that is refused ends no session.
 */
export const enterByLink = async (): Promise<void> => {
  const token = takeLink()
  if (token === null) return
  try {
    const { admin_key } = await call<typeof ConsoleEntry.Type>("/auth/dev/console", { body: { token }, isSignIn: true })
    enterAsAdmin(admin_key, true)
  } catch (thrown) {
    const failure = asFailure(thrown)
    const notice = failure.isMissing ? "This gateway has no sign-in links." : failure.message
    if (session.get().kind === "none") session.set({ kind: "none", notice })
  }
}

/** Signs in by a link, or resumes the session of an earlier visit, if there is one. */
export const resumeSession = async (): Promise<void> => {
  await enterByLink()
  if (session.get().kind !== "none" || !mayBeSignedIn()) return
  const wanted = takeWanted()
  if ((await renew()) && wanted !== null) replacePage(wanted)
}

export const signOut = async (): Promise<void> => {
  await call("/auth/logout", { method: "POST", isSignIn: true })
  leave()
}
