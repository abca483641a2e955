/** The audit trail in memory, for tests and trials: lost when the process ends. */
import { Effect, Layer } from "effect"
import { type AuditEvent } from "../../domain/Audit.ts"
import { idTimeMs } from "../../domain/Ids.ts"
import { type AuditQuery, AuditStore } from "./AuditStore.ts"

const equals = <A>(wanted: A | undefined, actual: A): boolean => wanted === undefined || wanted === actual

const matches = (one: AuditEvent, query: AuditQuery): boolean =>
  (query.cursor === null || one.id < query.cursor) &&
  equals(query.action, one.action) &&
  equals(query.outcome, one.outcome) &&
  equals(query.actor, one.actor) &&
  equals(query.actorId, one.actorId) &&
  (equals(query.target, one.target) || one.details["user"] === query.target) &&
  equals(query.address, one.address) &&
  equals(query.requestId, one.requestId) &&
  equals(query.id, one.id) &&
  idTimeMs(one.id) >= (query.fromMs ?? -Infinity) &&
  idTimeMs(one.id) < (query.toMs ?? Infinity) &&
  (query.about === undefined ||
    query.about.some((text) =>
      [one.actorId, one.target, one.details["user"], one.address, one.requestId].includes(text)
    ))

/** Each build starts empty. */
export const layer = Layer.sync(AuditStore, () => {
  const events = new Map<string, AuditEvent>()
  const newestFirst = () => [...events.values()].sort((a, b) => (a.id < b.id ? 1 : -1))
  return {
    add: (added) => Effect.sync(() => added.forEach((one) => events.set(one.id, one))),

    list: (query) =>
      Effect.sync(() =>
        newestFirst()
          .filter((one) => matches(one, query))
          .slice(0, query.limit)
      ),

    deleteOld: ({ beforeMs, limit, most }) =>
      Effect.sync(() => {
        const old = newestFirst()
          .filter(({ id }, at) => at >= most || idTimeMs(id) < beforeMs)
          .toReversed()
          .slice(0, limit)
        for (const { id } of old) events.delete(id)
        return old.length
      })
  }
})
