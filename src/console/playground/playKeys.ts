/**
 * Keys that the console borrows for the playground and the privacy preview, valid for an hour. A
 * secret stays in the memory of the tab. A key is given back, that is revoked, when another one is
 * made, at sign-out, and when the tab leaves the console: by a reload, by another address, or
 * because it is closed. A tab that crashed gives its key back when it makes the next one; so do
 * other tabs after some minutes without a call.
 */
import { type ApiKey } from "../../api/Keys.ts"
import { type OwnGrants } from "../../api/signin/Portal.ts"
import { call, renewal, send, withQuery } from "../client.ts"
import { BORROWED_KEY, isOperator, playKey, session } from "../session.ts"
import { everyone, own, type Source } from "../keys/source.ts"

const NAME = "console playground"
const LIFETIME_MS = 3_600_000
/** Without a call for this long, a key of another tab is taken for left behind. */
const IDLE_MS = 600_000
/** Access tokens are valid for fifteen minutes. */
const RENEWED_EVERY_MS = 600_000
/** Share of the user's budget, so that something is left for other keys. */
const SHARE = 0.25

type Issued = ApiKey & { readonly key: string }

const isLeftBehind = ({ created_at, expires_at, last_used_at, name, status }: ApiKey): boolean =>
  name === NAME &&
  status !== "revoked" &&
  expires_at !== null &&
  Date.parse(expires_at) - Date.parse(created_at) <= LIFETIME_MS + 60_000 &&
  Date.now() - Date.parse(last_used_at ?? created_at) > IDLE_MS

const revoke = (path: string): Promise<unknown> => call(path, { method: "DELETE" })

/** Pending while a key is being revoked. It never fails. */
let revocations: Promise<unknown> = Promise.resolve()

/**
 * Resolves when no key is being revoked. Lists of keys and budgets wait for it, because they would
 * still include that key.
 */
export const playKeyRevoked = (): Promise<unknown> => revocations

/** The key that a crash of this tab left behind, and keys that other tabs did. */
const returnLeftovers = async ({ keys }: Source): Promise<void> => {
  const { data } = await call<{ readonly data: ReadonlyArray<ApiKey> }>(withQuery(keys, { search: NAME }))
  const paths = data.filter(isLeftBehind).map(({ id }) => `${keys}/${id}`)
  const mine = sessionStorage.getItem(BORROWED_KEY)
  if (mine?.startsWith(`${keys}/`) === true) paths.push(mine)
  // If revoking fails, the key expires anyway.
  await Promise.allSettled([...new Set(paths)].map(revoke))
}

/** The budget of a user's key: a share of the whole, or the rest of it. */
const budgetOf = ({ available_usd, monthly_budget_usd }: OwnGrants): number | null =>
  monthly_budget_usd === null || available_usd === null ? null : Math.min(available_usd, monthly_budget_usd * SHARE)

const ownTerms = async (): Promise<object> => ({
  monthly_budget_usd: budgetOf(await call<OwnGrants>("/v1/portal/grants"))
})

let renewing: ReturnType<typeof setInterval> | undefined

export const makePlayKey = async (): Promise<void> => {
  const source = isOperator(session.get()) ? everyone : own
  await returnLeftovers(source)
  const terms = source.isOwn ? await ownTerms() : { tier: "pro" }
  const expires_at = new Date(Date.now() + LIFETIME_MS).toISOString()
  const { id, key, prefix } = await call<Issued>(source.keys, { body: { name: NAME, expires_at, ...terms } })
  const path = `${source.keys}/${id}`
  sessionStorage.setItem(BORROWED_KEY, path)
  playKey.set({ secret: key, label: `${prefix}, for an hour`, path })
  clearInterval(renewing)
  // A closing tab cannot renew its session first.
  renewing = setInterval(() => {
    if (session.get().kind === "user") void renewal.renew()
  }, RENEWED_EVERY_MS)
}

/** Forgets the key. Returns its address if it was made here. */
const forget = (): string | null => {
  const path = playKey.get()?.path ?? null
  playKey.set(null)
  clearInterval(renewing)
  sessionStorage.removeItem(BORROWED_KEY)
  return path
}

/** Forgets the key, and revokes it if it was made here. */
export const dropPlayKey = (): void => {
  const path = forget()
  if (path === null) return
  const revoked = revoke(path).catch(() => undefined)
  revocations = Promise.all([revocations, revoked])
}

addEventListener("pagehide", () => {
  const path = playKey.get()?.path ?? null
  if (path === null) return
  playKey.set(null)
  clearInterval(renewing)
  // The address is kept: if this call fails, the next key of this tab is made after another.
  void send(path, { method: "DELETE", keepalive: true }).catch(() => undefined)
})
