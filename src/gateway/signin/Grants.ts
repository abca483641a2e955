/**
 * The arithmetic of what an admin lets a user have, over all keys of the user. A key takes its budget, or what it has used where that is
 * more; a revoked key takes what it used this month, so that revoking and making anew gains nothing.
 */
import { type KeyRecord, type Scope, type Tier } from "../../domain/Key.ts"
import { type NanoUsd } from "../../domain/Money.ts"
import { type Grants } from "../../domain/User.ts"

/** A key and what it has spent and reserved this month. */
export interface KeyBook {
  readonly key: KeyRecord
  readonly usedNano: NanoUsd
}

const tiers: ReadonlyArray<Tier> = ["free", "pro", "enterprise"]

export const isTierWithin = (tier: Tier, granted: Tier): boolean => tiers.indexOf(tier) <= tiers.indexOf(granted)

export const areScopesWithin = (scopes: ReadonlyArray<Scope>, granted: ReadonlyArray<Scope>): boolean =>
  scopes.every((scope) => granted.includes(scope))

const takenBy = ({ key, usedNano }: KeyBook): NanoUsd =>
  key.state === "revoked" ? usedNano : Math.max(key.monthlyBudgetNano ?? Number.POSITIVE_INFINITY, usedNano)

/** What is left to give to keys; below zero when they have more than they may. `null`: there is no cap. */
export const remainingOf = (grants: Grants, books: ReadonlyArray<KeyBook>): NanoUsd | null =>
  grants.monthlyBudgetNano === null
    ? null
    : grants.monthlyBudgetNano - books.reduce((sum, book) => sum + takenBy(book), 0)

/** The members that a key has to change so that all of them fit in the grants. */
export interface Correction {
  readonly keyId: string
  readonly tier?: Tier
  readonly scopes?: ReadonlyArray<Scope>
  readonly monthlyBudgetNano?: NanoUsd
}

/**
 * How keys come to fit: the oldest keep what they have as long as it lasts. Keys that fit need no correction. What all keys have used
 * this month is gone whatever their budgets; what they may still spend fits in the rest, and all budgets in the months to come.
 */
export const corrections = (grants: Grants, books: ReadonlyArray<KeyBook>): ReadonlyArray<Correction> => {
  const live = books.filter(({ key }) => key.state !== "revoked").toSorted((a, b) => (a.key.id < b.key.id ? -1 : 1))
  const granted = grants.monthlyBudgetNano
  let budgetsLeft = granted ?? 0
  let openLeft = Math.max(0, budgetsLeft - books.reduce((sum, { usedNano }) => sum + usedNano, 0))
  return live.flatMap(({ key, usedNano }) => {
    const wanted = key.monthlyBudgetNano ?? Number.POSITIVE_INFINITY
    const budget = granted === null ? key.monthlyBudgetNano : Math.min(wanted, usedNano + openLeft, budgetsLeft)
    budgetsLeft -= budget ?? 0
    openLeft -= Math.max(0, (budget ?? 0) - usedNano)
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
