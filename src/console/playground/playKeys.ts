/**
 * Keys that the console creates for itself, valid for an hour. Their secrets never leave the tab,
 * so a key is revoked when it is no longer used. A closed tab leaves its key behind, with its part
 * of the user's budget; creating a new key removes such keys.
 */
import { type ApiKey } from "../../api/Keys.ts"
import { type OwnGrants } from "../../api/signin/Portal.ts"
import { call } from "../client.ts"
import { isOperator, type PlayKey, playKey, session } from "../session.ts"
import { everyone, own } from "../keys/source.ts"

const NAME = "console playground"
const LIFETIME_MS = 3_600_000
/** Share of the user's budget, so that something is left for other keys. */
const SHARE = 0.25

type Issued = ApiKey & { readonly key: string }

const isLeftBehind = ({ created_at, expires_at, name, status }: ApiKey): boolean =>
  name === NAME &&
  status !== "revoked" &&
  expires_at !== null &&
  Date.parse(expires_at) - Date.parse(created_at) <= LIFETIME_MS + 60_000

const revoke = (path: string): Promise<unknown> => call(path, { method: "DELETE" })

/** Pending while a key is being revoked. It never fails. */
let revocations: Promise<unknown> = Promise.resolve()

/**
 * Resolves when no key is being revoked. Lists of keys and budgets wait for it, because they would
 * still include that key.
 */
export const playKeyRevoked = (): Promise<unknown> => revocations

/** The budget of a user's key: a share of the whole, or the rest of it. */
const budgetOf = ({ available_usd, monthly_budget_usd }: OwnGrants): number | null =>
  monthly_budget_usd === null || available_usd === null ? null : Math.min(available_usd, monthly_budget_usd * SHARE)

const ownTerms = async (): Promise<object> => {
  const { data } = await call<{ readonly data: ReadonlyArray<ApiKey> }>(own.keys)
  await Promise.all(data.filter(isLeftBehind).map(({ id }) => revoke(`${own.keys}/${id}`)))
  const grants = await call<OwnGrants>("/v1/portal/grants")
  return { monthly_budget_usd: budgetOf(grants) }
}

export const makePlayKey = async (): Promise<void> => {
  const source = isOperator(session.get()) ? everyone : own
  const terms = source.isOwn ? await ownTerms() : { tier: "pro" }
  const expires_at = new Date(Date.now() + LIFETIME_MS).toISOString()
  const { id, key, prefix } = await call<Issued>(source.keys, { body: { name: NAME, expires_at, ...terms } })
  playKey.set({ secret: key, label: `${prefix}, for an hour`, path: `${source.keys}/${id}` })
}

/** Forgets the key, and revokes it if it was created here. */
export const dropPlayKey = (): void => {
  const current: PlayKey | null = playKey.get()
  playKey.set(null)
  if (current === null || current.path === null) return
  // If revoking fails, the key expires anyway.
  const revoked = revoke(current.path).catch(() => undefined)
  revocations = Promise.all([revocations, revoked])
}
