/**
 * Signing in by code or by an identity provider. The refresh token stays in the gateway's cookie, which no script reads; what is kept here is
 * an access token of a few minutes, and a new one is fetched when it has run out.
 */
import { type Challenge, type Tokens } from "../api/Auth.ts"
import { asFailure, call, renewal } from "./client.ts"
import { goBackTo } from "./router.tsx"
import { enterAsUser, leave, mayBeSignedIn, session, takeWanted } from "./session.ts"

export type Channel = "email" | "sms"

const names: Readonly<Record<string, string>> = { google: "Google", github: "GitHub" }

/** What an identity provider is called by people. */
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
    // A gateway that does not answer now has not ended the session.
    if (failure.status === 401 || failure.isMissing) leave()
    return false
  }
}

/** Calls that run out of time together are renewed once: a refresh token works a single time. */
const renew = (): Promise<boolean> => {
  renewing ??= renewOnce().finally(() => (renewing = undefined))
  return renewing
}
renewal.renew = renew

/** Comes back into a session that an earlier visit left open, if there is one. */
export const comeBack = async (): Promise<void> => {
  if (session.get().kind !== "none" || !mayBeSignedIn()) return
  const wanted = takeWanted()
  if ((await renew()) && wanted !== null) goBackTo(wanted)
}

export const signOut = async (): Promise<void> => {
  await call("/auth/logout", { method: "POST", isSignIn: true })
  leave()
}
