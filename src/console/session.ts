/**
 * The console's session. The admin key is kept in memory or, on request, in session storage, which
 * ends with the tab. It is never part of an address. A user's access token is kept in memory; the
 * refresh token is the gateway's HttpOnly cookie.
 */
import { type User } from "../api/signin/Auth.ts"
import { createStore } from "./store.ts"

export type Session =
  | { readonly kind: "none"; readonly notice?: string }
  | { readonly kind: "admin"; readonly key: string; readonly kept: boolean }
  | { readonly kind: "user"; readonly user: User; readonly accessToken: string }

const NAME = "tollgate.admin-key"
/** Set if a refresh cookie may exist. It avoids a request where there is certainly none. */
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

/**
 * Before visiting an identity provider: remembers that a session may exist afterwards, and the
 * requested page.
 */
export const expectSignIn = (): void => {
  localStorage.setItem(SIGNED_IN, "perhaps")
  sessionStorage.setItem(WANTED, location.pathname + location.search)
}

/** The page requested before visiting an identity provider. Returned only once. */
export const takeWanted = (): string | null => {
  const wanted = sessionStorage.getItem(WANTED)
  sessionStorage.removeItem(WANTED)
  return wanted
}

/** The address of the tab's own API key. The secret is not stored. */
export const BORROWED_KEY = "tollgate.borrowed-key"
/** The playground's thread. */
export const THREAD = "tollgate.playground"

/** Forgets all credentials in this tab. Without a notice, the user signed out: the thread goes. */
export const leave = (notice?: string): void => {
  sessionStorage.removeItem(NAME)
  localStorage.removeItem(SIGNED_IN)
  if (notice === undefined) sessionStorage.removeItem(THREAD)
  playKey.set(null)
  session.set(notice === undefined ? { kind: "none" } : { kind: "none", notice })
}

export const isOperator = (current: Session): boolean =>
  current.kind === "admin" || (current.kind === "user" && current.user.role === "admin")

/** The API key of the playground and the privacy preview. In memory only. */
export interface PlayKey {
  readonly secret: string
  readonly label: string
  /** The address that revokes it, if the console created it. */
  readonly path: string | null
}

export const playKey = createStore<PlayKey | null>(null)
