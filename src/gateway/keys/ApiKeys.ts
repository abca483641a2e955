/**
 * API keys: issues, changes, rotates, revokes and authenticates them. Look-ups are cached for at
 * most one second, so a change takes effect within that time on every replica, and at once here.
 */
import { Clock, Context, Duration, Effect, Layer, Option, type Redacted, Schedule } from "effect"
import {
  gatewayError,
  type GatewayError,
  KeyRevoked,
  KeyRotated,
  NotFound,
  Unauthenticated
} from "../../domain/Errors.ts"
import { Events, type EventType } from "../../domain/Events.ts"
import { Ids, isId } from "../../domain/Ids.ts"
import { type KeyRecord, type KeyState, type RateLimits, type Scope, statusOf, type Tier } from "../../domain/Key.ts"
import { monthOf, type NanoUsd } from "../../domain/pricing/Money.ts"
import { type KeyPrivacy } from "../../domain/Privacy.ts"
import { type KeyPage, type KeyPatch, KeyRepo } from "../../store/keys/KeyRepo.ts"
import { Ledger } from "../../store/ledger/Ledger.ts"
import { AuditLog } from "../telemetry/Audit.ts"
import { makeSetState, type StateChange } from "./BulkChange.ts"
import { callerFinder } from "./Callers.ts"
import { makeKeyCache } from "./KeyCache.ts"
import { isOpenedBy, makeSecret, readSecret } from "./KeySecret.ts"
import { type KeyListQuery, type KeyView, type KeyViewPage } from "./KeyView.ts"
import { orUnavailable } from "../StoreUnavailable.ts"
import { type Caller } from "../request/Caller.ts"

export interface NewKey {
  readonly name: string
  readonly tier: Tier
  readonly scopes: ReadonlyArray<Scope>
  /** Absent: the tier's budget. Null: no cap. */
  readonly monthlyBudgetNano?: NanoUsd | null
  readonly allowedModels: ReadonlyArray<string> | null
  /** Absent or null: the deployment's mode. */
  readonly privacy?: KeyPrivacy | null
  readonly ownerId: string | null
  readonly expiresAtMs: number | null
}

export interface IssuedKey {
  readonly view: KeyView
  readonly secret: Redacted.Redacted
}

export interface ApiKeysOptions {
  readonly tiers: Readonly<Record<Tier, RateLimits>>
  /** Budgets of keys that are issued without one. */
  readonly tierBudgets: Readonly<Record<Tier, NanoUsd | null>>
}

const TOUCH_EVERY = Duration.seconds(10)

export class ApiKeys extends Context.Service<
  ApiKeys,
  {
    /**
     * The caller of a secret. A missing, unknown, revoked, disabled or expired key fails with the
     * same error.
     */
    readonly authenticate: (secret: string) => Effect.Effect<Caller, GatewayError>
    /** Whether a secret is valid. Does not count as a use of the key. */
    readonly opens: (secret: string) => Effect.Effect<boolean, GatewayError>
    /** Clears the cache, so that changes to a key's owner take effect at once in this process. */
    readonly invalidateAll: Effect.Effect<void>
    readonly issue: (key: NewKey) => Effect.Effect<IssuedKey, GatewayError>
    /** Like `issue`, for a key decided on while no other decision about this owner's keys runs. */
    readonly issueWithin: (
      ownerId: string,
      decide: Effect.Effect<NewKey, GatewayError>
    ) => Effect.Effect<IssuedKey, GatewayError>
    /** Changes keys of an owner, decided on like in `issueWithin`: all of them or none. */
    readonly changeWithin: (
      ownerId: string,
      decide: Effect.Effect<ReadonlyArray<readonly [id: string, patch: KeyPatch]>, GatewayError>
    ) => Effect.Effect<void, GatewayError>
    readonly list: (query: KeyListQuery) => Effect.Effect<KeyViewPage, GatewayError>
    readonly get: (id: string) => Effect.Effect<KeyView, GatewayError>
    /** Refuses a revoked key. */
    readonly change: (id: string, patch: KeyPatch) => Effect.Effect<KeyView, GatewayError>
    readonly revoke: (id: string) => Effect.Effect<KeyView, GatewayError>
    /**
     * Sets the state of several keys, and tells for each id, in their order, what became of it. If
     * the database does not answer, no key is changed.
     */
    readonly setState: (
      ids: ReadonlyArray<string>,
      state: KeyState
    ) => Effect.Effect<ReadonlyArray<StateChange>, GatewayError>
    /** The old secret stays valid for `graceSeconds`. Refuses revoked and just rotated keys. */
    readonly rotate: (id: string, graceSeconds: number) => Effect.Effect<IssuedKey, GatewayError>
  }
>()("tollgate/gateway/keys/ApiKeys") {
  static readonly layer = (options: ApiKeysOptions) =>
    Layer.effect(
      ApiKeys,
      Effect.gen(function* () {
        const { audit, audited } = yield* AuditLog
        const repo = yield* KeyRepo
        const ledger = yield* Ledger
        const ids = yield* Ids
        const events = yield* Events
        const clock = yield* Clock.Clock
        const publish = (type: EventType, { key }: KeyView) =>
          events.publish(type, {
            key_id: key.id,
            key_name: key.name,
            key_prefix: key.prefix,
            owner: key.ownerId,
            tier: key.tier
          })

        const lookups = yield* makeKeyCache(callerFinder(repo, options.tiers))
        const forget = (key: KeyRecord) => lookups.invalidate(key.publicId)

        let uses = new Map<string, number>()
        const flushUses = Effect.suspend(() => {
          if (uses.size === 0) return Effect.void
          const flushed = uses
          uses = new Map()
          return Effect.ignore(repo.touch(flushed))
        })
        yield* Effect.addFinalizer(() => flushUses)
        yield* Effect.forkScoped(Effect.repeat(flushUses, Schedule.spaced(TOUCH_EVERY)))

        const viewsOf = Effect.fnUntraced(function* (keys: ReadonlyArray<KeyRecord>) {
          const nowMs = yield* Clock.currentTimeMillis
          const balances = yield* ledger.balances(
            keys.map((key) => key.id),
            monthOf(nowMs)
          )
          return keys.map((key): KeyView => ({
            key,
            limits: options.tiers[key.tier],
            balance: balances.get(key.id) ?? { spentNano: 0, reservedNano: 0 },
            nowMs
          }))
        })

        const viewOf = Effect.fnUntraced(function* (id: string, found: Option.Option<KeyRecord>) {
          if (Option.isNone(found)) return yield* gatewayError(new NotFound({ what: "key", id }))
          const [view] = yield* viewsOf([found.value])
          return view ?? (yield* Effect.die("a view of one key has one entry"))
        })

        const write = Effect.fnUntraced(function* (id: string, patch: KeyPatch) {
          if (!isId("key", id)) return yield* gatewayError(new NotFound({ what: "key", id }))
          const updated = yield* repo.update(id, patch, yield* Clock.currentTimeMillis)
          if (Option.isSome(updated)) yield* forget(updated.value)
          return yield* viewOf(id, updated)
        }, orUnavailable)

        const change = Effect.fn("ApiKeys.change")(function* (id: string, patch: KeyPatch) {
          const found = isId("key", id) ? yield* repo.get(id) : Option.none()
          if (Option.isSome(found) && found.value.state === "revoked") return yield* gatewayError(new KeyRevoked())
          return yield* write(id, patch)
        }, orUnavailable)

        const insert = Effect.fnUntraced(function* (key: NewKey) {
          const nowMs = yield* Clock.currentTimeMillis
          const { hash, prefix, publicId, secret } = makeSecret()
          const record: KeyRecord = {
            ...key,
            monthlyBudgetNano:
              key.monthlyBudgetNano === undefined ? options.tierBudgets[key.tier] : key.monthlyBudgetNano,
            privacy: key.privacy ?? null,
            id: ids.next("key", nowMs),
            publicId,
            secretHash: hash,
            previousSecretHash: null,
            previousValidUntilMs: null,
            prefix,
            state: "active",
            createdAtMs: nowMs,
            updatedAtMs: nowMs,
            lastUsedAtMs: null,
            revokedAtMs: null
          }
          yield* repo.insert(record)
          return { record, secret }
        })

        const issued = Effect.fnUntraced(function* ({ record, secret }: Effect.Success<ReturnType<typeof insert>>) {
          const view = yield* viewOf(record.id, Option.some(record))
          yield* publish("key.created", view)
          return { view, secret } satisfies IssuedKey
        })

        const issue = Effect.fn("ApiKeys.issue")((key: NewKey) => Effect.flatMap(insert(key), issued), orUnavailable)

        const issueWithin = Effect.fn("ApiKeys.issueWithin")(
          (ownerId: string, decide: Effect.Effect<NewKey, GatewayError>) =>
            Effect.flatMap(repo.exclusively(ownerId, Effect.flatMap(decide, insert)), issued),
          orUnavailable
        )

        const changeWithin = Effect.fn("ApiKeys.changeWithin")(function* (
          ownerId: string,
          decide: Effect.Effect<ReadonlyArray<readonly [id: string, patch: KeyPatch]>, GatewayError>
        ) {
          const nowMs = yield* Clock.currentTimeMillis
          const changed = yield* repo.exclusively(
            ownerId,
            Effect.flatMap(
              decide,
              Effect.forEach(([id, patch]) => repo.update(id, patch, nowMs))
            )
          )
          // After the transaction: an earlier look-up would cache the old record again.
          for (const key of changed) if (Option.isSome(key)) yield* forget(key.value)
          return changed.flatMap(Option.toArray)
        }, orUnavailable)

        const list = Effect.fn("ApiKeys.list")(function* ({ status, ...asked }: KeyListQuery) {
          const nowMs = yield* Clock.currentTimeMillis
          const query = { ...asked, month: monthOf(nowMs), ...(status && { status: { is: status, nowMs } }) }
          const { keys, nextCursor }: KeyPage = yield* repo.list(query)
          return { keys: yield* viewsOf(keys), nextCursor, total: yield* repo.total(query) }
        }, orUnavailable)

        const get = Effect.fn("ApiKeys.get")(function* (id: string) {
          return yield* viewOf(id, isId("key", id) ? yield* repo.get(id) : Option.none())
        }, orUnavailable)

        const revoke = Effect.fn("ApiKeys.revoke")(function* (id: string) {
          const nowMs = yield* Clock.currentTimeMillis
          const view = yield* write(id, {
            state: "revoked",
            revokedAtMs: nowMs,
            previousSecretHash: null,
            previousValidUntilMs: null
          })
          yield* publish("key.revoked", view)
          return view
        })

        const rotate = Effect.fn("ApiKeys.rotate")(function* (id: string, graceSeconds: number) {
          const nowMs = yield* Clock.currentTimeMillis
          const { key } = yield* get(id)
          if (key.state === "revoked") return yield* gatewayError(new KeyRevoked())
          const fresh = makeSecret(key.publicId)
          const rotated = yield* repo.rotate({
            id,
            oldHash: key.secretHash,
            newHash: fresh.hash,
            oldUntilMs: graceSeconds > 0 ? nowMs + graceSeconds * 1000 : null,
            nowMs
          })
          if (Option.isNone(rotated)) return yield* gatewayError(new KeyRotated())
          yield* forget(rotated.value)
          const view = yield* viewOf(id, rotated)
          yield* publish("key.rotated", view)
          return { view, secret: fresh.secret } satisfies IssuedKey
        }, orUnavailable)

        const callerOf = (sent: string, isUse: boolean): Effect.Effect<Caller, GatewayError> => {
          const read = readSecret(sent)
          if (Option.isNone(read)) return unauthenticated
          const { hash, publicId } = read.value
          return Effect.flatMapEager(orUnavailable(lookups.get(publicId)), (found) => {
            if (Option.isNone(found)) return unauthenticated
            const nowMs = clock.currentTimeMillisUnsafe()
            const { key } = found.value
            if (!isOpenedBy(key, hash, nowMs) || statusOf(key, nowMs) !== "active") return unauthenticated
            if (isUse) uses.set(key.id, nowMs)
            return Effect.succeed(found.value)
          })
        }

        const idOf = ({ view }: IssuedKey) => view.key.id
        return ApiKeys.of({
          authenticate: (secret) => callerOf(secret, true),
          opens: (secret) =>
            Effect.catchIf(Effect.as(callerOf(secret, false), true), isUnauthenticated, () => Effect.succeed(false)),
          invalidateAll: lookups.invalidateAll,
          list,
          get,
          issue: (key) => audited("key.create", idOf, issue(key)),
          issueWithin: (ownerId, decide) => audited("key.create", idOf, issueWithin(ownerId, decide)),
          change: (id, patch) => audited("key.change", id, change(id, patch), { members: Object.keys(patch) }),
          changeWithin: (ownerId, decide) =>
            changeWithin(ownerId, decide).pipe(
              Effect.flatMap(Effect.forEach(({ id }) => audit({ action: "key.change", target: id, outcome: "done" }))),
              Effect.uninterruptible,
              Effect.asVoid
            ),
          revoke: (id) => audited("key.revoke", id, revoke(id)),
          setState: makeSetState({ repo, forget, viewsOf, publish, audit }),
          rotate: (id, graceSeconds) => audited("key.rotate", id, rotate(id, graceSeconds))
        })
      })
    )
}

const isUnauthenticated = ({ reason }: GatewayError): boolean => reason._tag === "Unauthenticated"
const unauthenticated = Effect.fail(gatewayError(new Unauthenticated()))
