/**
 * Who sits in front of the console. The admin key stays in this tab's memory, or, when asked to, in its session storage, which ends with the
 * tab; it is never part of an address. A user's access token stays in memory; the refresh token is the gateway's cookie, which no script can read.
 */
import { type User } from "../api/Auth.ts"
import { createStore } from "./store.ts"

export type Session =
  | { readonly kind: "none"; readonly notice?: string }
  | { readonly kind: "admin"; readonly key: string; readonly kept: boolean }
  | { readonly kind: "user"; readonly user: User; readonly accessToken: string }

const NAME = "tollgate.admin-key"
/** Whether a refresh cookie may be there. It says nothing of whose; without it the gateway need not be asked. */
const SIGNED_IN = "tollgate.signed-in"
const WANTED = "tollgate.wanted-page"

const first = (): Session => {
  const key = sessionStorage.getItem(NAME)
  return key === null ? { kind: "none" } : { kind: "admin", key, kept: true }
}

export const session = createStore<Session>(first())

export const enterAsAdmin = (key: string, keep: boolean): void => {
  if (keep) sessionStorage.setItem(NAME, key)
  session.set({ kind: "admin", key, kept: keep })
}

export const enterAsUser = (user: User, accessToken: string): void => {
  localStorage.setItem(SIGNED_IN, "yes")
  session.set({ kind: "user", user, accessToken })
}

export const mayBeSignedIn = (): boolean => localStorage.getItem(SIGNED_IN) !== null

/** Before an identity provider is visited: whoever comes back may be signed in, and wants the page that was asked for. */
export const expectSignIn = (): void => {
  localStorage.setItem(SIGNED_IN, "perhaps")
  sessionStorage.setItem(WANTED, location.pathname)
}

/** The page that was asked for before an identity provider was visited; it is told once. */
export const takeWanted = (): string | null => {
  const wanted = sessionStorage.getItem(WANTED)
  sessionStorage.removeItem(WANTED)
  return wanted
}

/** Forgets every credential that this tab holds. */
export const leave = (notice?: string): void => {
  sessionStorage.removeItem(NAME)
  localStorage.removeItem(SIGNED_IN)
  playKey.set(null)
  session.set(notice === undefined ? { kind: "none" } : { kind: "none", notice })
}

export const isOperator = (current: Session): boolean =>
  current.kind === "admin" || (current.kind === "user" && current.user.role === "admin")

/** The API key that the playground and the privacy preview call with. In memory only. */
export interface PlayKey {
  readonly secret: string
  readonly label: string
  /** Where it is revoked, if it was made here: nobody else ever saw its secret. */
  readonly path: string | null
}

export const playKey = createStore<PlayKey | null>(null)
