/**
 * Sets the state of many keys in one step. If the database does not answer, none is changed. Each
 * key has its own line in the audit trail.
 */
import { Clock, Effect } from "effect"
import { type GatewayError } from "../../domain/Errors.ts"
import { type EventType } from "../../domain/Events.ts"
import { isId } from "../../domain/Ids.ts"
import { type KeyRecord, type KeyState } from "../../domain/Key.ts"
import { type KeyRepo } from "../../store/keys/KeyRepo.ts"
import { type StoreError } from "../../store/StoreError.ts"
import { orUnavailable } from "../StoreUnavailable.ts"
import { type AuditEntry } from "../telemetry/Audit.ts"
import { type KeyView } from "./KeyView.ts"

/** `missing`: there is no such key. `revoked`: it cannot be changed any more. */
export interface StateChange {
  readonly id: string
  readonly outcome: "changed" | "unchanged" | "missing" | "revoked"
  /** As it is now. Null: there is no such key. */
  readonly view: KeyView | null
}

interface Parts {
  readonly repo: KeyRepo["Service"]
  readonly viewsOf: (keys: ReadonlyArray<KeyRecord>) => Effect.Effect<ReadonlyArray<KeyView>, StoreError>
  /** Drops a key from the cache of look-ups. */
  readonly forget: (key: KeyRecord) => Effect.Effect<void>
  readonly audit: (entry: AuditEntry) => Effect.Effect<void>
  readonly publish: (type: EventType, view: KeyView) => Effect.Effect<void>
}

export const makeSetState = ({ audit, forget, publish, repo, viewsOf }: Parts) => {
  const set = Effect.fn("ApiKeys.setState")(function* (ids: ReadonlyArray<string>, state: KeyState) {
    const { changed, keys } = yield* repo.setState(ids, state, yield* Clock.currentTimeMillis)
    for (const [id, key] of keys) if (changed.has(id)) yield* forget(key)
    const views = new Map((yield* viewsOf([...keys.values()])).map((view) => [view.key.id, view]))
    return ids.map((id): StateChange => {
      const view = views.get(id) ?? null
      if (view === null) return { id, outcome: "missing", view }
      if (changed.has(id)) return { id, outcome: "changed", view }
      return { id, outcome: view.key.state === state ? "unchanged" : "revoked", view }
    })
  }, orUnavailable)

  return (ids: ReadonlyArray<string>, state: KeyState): Effect.Effect<ReadonlyArray<StateChange>, GatewayError> => {
    const action = state === "revoked" ? "key.revoke" : "key.change"
    const details = state === "revoked" ? {} : { members: ["state"] }
    const report = Effect.fnUntraced(function* ({ id, outcome, view }: StateChange) {
      if (outcome === "unchanged") return
      if (outcome === "changed") {
        yield* audit({ action, target: id, outcome: "done", details })
        if (state === "revoked" && view !== null) yield* publish("key.revoked", view)
        return
      }
      const cause = outcome === "missing" ? "NotFound" : "KeyRevoked"
      // Another text may be anything that the client sent.
      yield* audit({ action, target: isId("key", id) ? id : null, outcome: "refused", details: { ...details, cause } })
    })
    return set(ids, state).pipe(
      Effect.tap(Effect.forEach(report, { discard: true })),
      Effect.tapError(({ reason }) =>
        audit({ action, target: null, outcome: "failed", details: { ...details, cause: reason._tag } })
      ),
      // An interruption must not come between the change and its lines.
      Effect.uninterruptible
    )
  }
}
