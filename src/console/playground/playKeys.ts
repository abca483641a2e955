/**
 * Keys that the console makes for itself, good for an hour. Their secrets never leave the tab, so that a key is revoked when it is not used
 * any longer. A tab that was closed leaves its key behind, with the share of the budget that a user's key takes: making one anew
 * clears such remains away.
 */
import { type ApiKey } from "../../api/Keys.ts"
import { type OwnGrants } from "../../api/Portal.ts"
import { call } from "../client.ts"
import { isOperator, type PlayKey, playKey, session } from "../session.ts"
import { everyone, own } from "../keys/source.ts"

const NAME = "console playground"
const LIFETIME_MS = 3_600_000
/** Of a user's whole budget, so that it lasts for other keys too. */
const SHARE = 0.25

type Issued = ApiKey & { readonly key: string }

const isLeftBehind = ({ created_at, expires_at, name, status }: ApiKey): boolean =>
  name === NAME &&
  status !== "revoked" &&
  expires_at !== null &&
  Date.parse(expires_at) - Date.parse(created_at) <= LIFETIME_MS + 60_000

const revoke = (path: string): Promise<unknown> => call(path, { method: "DELETE" })

/** Pending while a key is given back. It never fails. */
let givenBack: Promise<unknown> = Promise.resolve()

/** Resolves once no key is being given back: what lists keys or what is left of a budget asks after that, or it would still show that key. */
export const playKeyGivenBack = (): Promise<unknown> => givenBack

/** What a key of a user's may have: a share of the budget, or what is left of it. */
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

/** Forgets the key; one that was made here is revoked. */
export const dropPlayKey = (): void => {
  const current: PlayKey | null = playKey.get()
  playKey.set(null)
  if (current === null || current.path === null) return
  // Should it fail, the key ends by itself.
  const revoked = revoke(current.path).catch(() => undefined)
  givenBack = Promise.all([givenBack, revoked])
}
