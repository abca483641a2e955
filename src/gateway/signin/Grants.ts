/**
 * The arithmetic of a user's grants, over all keys of the user. A live key counts with its budget,
 * or with its usage if that is higher. A revoked key counts with this month's usage, so revoking a
 * key and creating a new one gains nothing.
 */
import { type KeyRecord, type Scope, type Tier } from "../../domain/Key.ts"
import { type NanoUsd } from "../../domain/pricing/Money.ts"
import { type Grants } from "../../domain/User.ts"

/** A key with its spent and reserved amount this month. */
export interface KeyUsage {
  readonly key: KeyRecord
  readonly usedNano: NanoUsd
}

const tiers: ReadonlyArray<Tier> = ["free", "pro", "enterprise"]

export const isTierWithin = (tier: Tier, granted: Tier): boolean => tiers.indexOf(tier) <= tiers.indexOf(granted)

export const areScopesWithin = (scopes: ReadonlyArray<Scope>, granted: ReadonlyArray<Scope>): boolean =>
  scopes.every((scope) => granted.includes(scope))

const takenBy = ({ key, usedNano }: KeyUsage): NanoUsd =>
  key.state === "revoked" ? usedNano : Math.max(key.monthlyBudgetNano ?? Number.POSITIVE_INFINITY, usedNano)

/**
 * The part of the granted budget that is not assigned to keys. It is negative when the keys have
 * more than is granted. Null: there is no cap.
 */
export const remainingOf = (grants: Grants, keyUsages: ReadonlyArray<KeyUsage>): NanoUsd | null =>
  grants.monthlyBudgetNano === null
    ? null
    : grants.monthlyBudgetNano - keyUsages.reduce((sum, keyUsage) => sum + takenBy(keyUsage), 0)

/** Changes to one key that bring all keys within the grants. */
export interface Correction {
  readonly keyId: string
  readonly tier?: Tier
  readonly scopes?: ReadonlyArray<Scope>
  readonly monthlyBudgetNano?: NanoUsd
}

/**
 * The changes that bring all keys within the grants. The oldest keys keep their budgets as long as
 * the grant suffices, and keys that fit are not changed. This month's usage of all keys is deducted
 * first. The keys' unspent budgets must fit in the rest, and all budgets together must fit in the
 * grant for the months to come.
 */
export const corrections = (grants: Grants, keyUsages: ReadonlyArray<KeyUsage>): ReadonlyArray<Correction> => {
  const live = keyUsages.filter(({ key }) => key.state !== "revoked").toSorted((a, b) => (a.key.id < b.key.id ? -1 : 1))
  const granted = grants.monthlyBudgetNano
  let budgetsLeft = granted ?? 0
  let unspentLeft = Math.max(0, budgetsLeft - keyUsages.reduce((sum, { usedNano }) => sum + usedNano, 0))
  return live.flatMap(({ key, usedNano }) => {
    const wanted = key.monthlyBudgetNano ?? Number.POSITIVE_INFINITY
    const budget = granted === null ? key.monthlyBudgetNano : Math.min(wanted, usedNano + unspentLeft, budgetsLeft)
    budgetsLeft -= budget ?? 0
    unspentLeft -= Math.max(0, (budget ?? 0) - usedNano)
    const correction: Correction = {
      keyId: key.id,
      ...(isTierWithin(key.tier, grants.tier) ? {} : { tier: grants.tier }),
      ...(areScopesWithin(key.scopes, grants.scopes)
        ? {}
        : { scopes: key.scopes.filter((scope) => grants.scopes.includes(scope)) }),
      ...(budget === key.monthlyBudgetNano || budget === null ? {} : { monthlyBudgetNano: budget })
    }
    return Object.keys(correction).length > 1 ? [correction] : []
  })
}
