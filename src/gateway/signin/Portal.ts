/**
 * Self-service of users: they manage their own keys within their grants, and read the usage of
 * these keys. A request beyond the grants, or for another user's key, changes nothing. Concurrent
 * requests of one user are decided one at a time, so that together they stay within the grants.
 */
import { Context, Effect, Layer } from "effect"
import { gatewayError, type GatewayError, GrantExceeded, KeyRevoked, NotFound } from "../../domain/Errors.ts"
import { type Grants, type UserRecord } from "../../domain/User.ts"
import { type KeyPatch } from "../../store/keys/KeyRepo.ts"
import { type NanoUsd } from "../../domain/pricing/Money.ts"
import { ApiKeys, type IssuedKey, type NewKey } from "../keys/ApiKeys.ts"
import { type KeyListQuery, type KeyView, type KeyViewPage } from "../keys/KeyView.ts"
import { areScopesWithin, corrections, isTierWithin, type KeyUsage, remainingOf } from "./Grants.ts"
import { AuditLog } from "../telemetry/Audit.ts"
import { UserAdmin } from "./UserAdmin.ts"
import { SignInLimits } from "./SignInLimits.ts"
import { type UsageFigures, type UsageQuery, UsageReports } from "../billing/UsageReports.ts"

/** A key that a user requests. An absent or null member means as much as the grants allow. */
export type WantedKey = Pick<NewKey, "name" | "allowedModels" | "privacy" | "expiresAtMs"> & {
  readonly tier: NewKey["tier"] | null
  readonly scopes: NewKey["scopes"] | null
  readonly monthlyBudgetNano: NanoUsd | null
}

export interface Usage extends UsageFigures {
  /** Names of the user's keys, by key id. */
  readonly names: ReadonlyMap<string, string>
}

export interface Allowed {
  readonly grants: Grants
  /** Budget that is left for a new key; null when there is no cap. */
  readonly availableNano: number | null
  /** Spent and reserved this month, by all keys. */
  readonly usedNano: number
  /** Number of keys that are not revoked, and its limit. */
  readonly keys: number
  readonly maxKeys: number
}

/** Most keys of one user that are not revoked. */
const MAX_KEYS = 20
const CREATIONS_PER_MINUTE = 10
const PAGE = 1_000

export class Portal extends Context.Service<
  Portal,
  {
    readonly get: (user: UserRecord, keyId: string) => Effect.Effect<KeyView, GatewayError>
    readonly list: (user: UserRecord, page: Omit<KeyListQuery, "ownerId">) => Effect.Effect<KeyViewPage, GatewayError>
    readonly create: (user: UserRecord, wanted: WantedKey) => Effect.Effect<IssuedKey, GatewayError>
    /** A budget of null means as much as the grants allow. */
    readonly change: (user: UserRecord, keyId: string, patch: KeyPatch) => Effect.Effect<KeyView, GatewayError>
    readonly rotate: (user: UserRecord, keyId: string, graceSeconds: number) => Effect.Effect<IssuedKey, GatewayError>
    readonly revoke: (user: UserRecord, keyId: string) => Effect.Effect<KeyView, GatewayError>
    readonly grants: (user: UserRecord) => Effect.Effect<Allowed, GatewayError>
    /** Usage by day, model and key. */
    readonly usage: (
      user: UserRecord,
      query: Omit<UsageQuery, "ownerId" | "groupBy">
    ) => Effect.Effect<Usage, GatewayError>
    /** Reduces the user's keys to what is still granted. */
    readonly enforceGrants: (userId: string) => Effect.Effect<void, GatewayError>
  }
>()("tollgate/gateway/signin/Portal") {
  static readonly layer = Layer.effect(
    Portal,
    Effect.gen(function* () {
      const { audit } = yield* AuditLog
      const apiKeys = yield* ApiKeys
      const userAdmin = yield* UserAdmin
      const reports = yield* UsageReports
      const rates = yield* SignInLimits

      const allKeys = Effect.fnUntraced(function* (ownerId: string) {
        const keys: Array<KeyView> = []
        let cursor: string | null = null
        do {
          const page: { readonly keys: ReadonlyArray<KeyView>; readonly nextCursor: string | null } =
            yield* apiKeys.list({ limit: PAGE, cursor, ownerId })
          keys.push(...page.keys)
          cursor = page.nextCursor
        } while (cursor !== null)
        return keys.map(({ balance, key }): KeyUsage => ({ key, usedNano: balance.spentNano + balance.reservedNano }))
      })

      /**
       * Reads the user's current grants and keys. The `user` of the request may be up to a second
       * old.
       */
      const currentState = Effect.fnUntraced(function* ({ id }: UserRecord) {
        const { user } = yield* userAdmin.get(id)
        return { grants: user.grants, keyUsages: yield* allKeys(id) }
      })

      const ownKey = Effect.fnUntraced(function* ({ id }: UserRecord, keyId: string) {
        const view = yield* apiKeys.get(keyId)
        return view.key.ownerId === id ? view : yield* gatewayError(new NotFound({ what: "key", id: keyId }))
      })

      /**
       * The budget for a key from what the other keys leave: the requested amount, or all that is
       * left. Fails if that is 0 or if the request exceeds it.
       */
      const budgetWithin = Effect.fnUntraced(function* (
        grants: Grants,
        others: ReadonlyArray<KeyUsage>,
        wantedNano: number | null
      ) {
        const remaining = remainingOf(grants, others)
        if (remaining === null) return wantedNano
        const budget = wantedNano ?? remaining
        if (budget >= 1 && budget <= remaining) return budget
        return yield* gatewayError(
          new GrantExceeded({
            param: "monthly_budget_usd",
            availableNano: Math.max(0, remaining),
            isNothingGranted: grants.monthlyBudgetNano === 0
          })
        )
      })

      const requireGranted = Effect.fnUntraced(function* (
        grants: Grants,
        { scopes, tier }: Pick<KeyPatch, "scopes" | "tier">
      ) {
        if (tier !== undefined && !isTierWithin(tier, grants.tier)) {
          return yield* gatewayError(new GrantExceeded({ param: "tier", availableNano: null }))
        }
        if (scopes !== undefined && !areScopesWithin(scopes, grants.scopes)) {
          return yield* gatewayError(new GrantExceeded({ param: "scopes", availableNano: null }))
        }
      })

      const create = Effect.fn("Portal.create")(function* (user: UserRecord, wanted: WantedKey) {
        yield* rates.byUser("key", user.id, CREATIONS_PER_MINUTE)
        const decide = Effect.gen(function* () {
          const { keyUsages, grants } = yield* currentState(user)
          const tier = wanted.tier ?? grants.tier
          const scopes = wanted.scopes ?? grants.scopes
          yield* requireGranted(grants, { tier, scopes })
          if (liveOf(keyUsages) >= MAX_KEYS) {
            return yield* gatewayError(new GrantExceeded({ param: "keys", availableNano: null }))
          }
          const monthlyBudgetNano = yield* budgetWithin(grants, keyUsages, wanted.monthlyBudgetNano)
          if (monthlyBudgetNano === 0) {
            return yield* gatewayError(new GrantExceeded({ param: "monthly_budget_usd", availableNano: 0 }))
          }
          return { ...wanted, tier, scopes, monthlyBudgetNano, ownerId: user.id }
        })
        return yield* apiKeys.issueWithin(user.id, decide)
      })

      const change = Effect.fn("Portal.change")(function* (user: UserRecord, keyId: string, patch: KeyPatch) {
        const decide = Effect.gen(function* () {
          const { key } = yield* ownKey(user, keyId)
          if (key.state === "revoked") return yield* gatewayError(new KeyRevoked())
          const { keyUsages, grants } = yield* currentState(user)
          yield* requireGranted(grants, patch)
          const { monthlyBudgetNano: wanted } = patch
          const isLowered = typeof wanted === "number" && wanted <= (key.monthlyBudgetNano ?? Infinity)
          if (wanted === undefined || isLowered) return [[keyId, patch] as const]
          const others = keyUsages.filter((keyUsage) => keyUsage.key.id !== keyId)
          return [[keyId, { ...patch, monthlyBudgetNano: yield* budgetWithin(grants, others, wanted) }] as const]
        })
        yield* Effect.tapError(apiKeys.changeWithin(user.id, decide), ({ reason }) =>
          audit({ action: "key.change", target: user.id, outcome: "refused", details: { cause: reason._tag } })
        )
        return yield* apiKeys.get(keyId)
      })

      const grants = Effect.fn("Portal.grants")(function* (user: UserRecord) {
        const { keyUsages, grants } = yield* currentState(user)
        const remaining = remainingOf(grants, keyUsages)
        const availableNano = remaining === null ? null : Math.max(0, remaining)
        const usedNano = keyUsages.reduce((sum, one) => sum + one.usedNano, 0)
        return { grants, availableNano, usedNano, keys: liveOf(keyUsages), maxKeys: MAX_KEYS } satisfies Allowed
      })

      const usage = Effect.fn("Portal.usage")(function* (
        { id }: UserRecord,
        query: Omit<UsageQuery, "ownerId" | "groupBy">
      ) {
        const figures = yield* reports.read({ ...query, ownerId: id, groupBy: ["day", "model", "key"] })
        const keyUsages = yield* allKeys(id)
        return { ...figures, names: new Map(keyUsages.map(({ key }) => [key.id, key.name])) } satisfies Usage
      })

      const conform = Effect.fn("Portal.enforceGrants")(function* (userId: string) {
        const { user } = yield* userAdmin.get(userId)
        const decide = Effect.map(currentState(user), ({ keyUsages, grants }) =>
          corrections(grants, keyUsages).map(({ keyId, ...patch }) => [keyId, patch] as const)
        )
        yield* apiKeys.changeWithin(userId, decide)
      })

      return Portal.of({
        create,
        change,
        grants,
        usage,
        enforceGrants: conform,
        get: ownKey,
        list: (user, page) => apiKeys.list({ ...page, ownerId: user.id }),
        rotate: (user, keyId, graceSeconds) => Effect.andThen(ownKey(user, keyId), apiKeys.rotate(keyId, graceSeconds)),
        revoke: (user, keyId) => Effect.andThen(ownKey(user, keyId), apiKeys.revoke(keyId))
      })
    })
  )
}

const liveOf = (keyUsages: ReadonlyArray<KeyUsage>): number =>
  keyUsages.filter(({ key }) => key.state !== "revoked").length
