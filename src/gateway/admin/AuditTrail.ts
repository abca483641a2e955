/**
 * The events of the audit trail, newest first, with the names of those who acted and of targets.
 */
import { Context, Effect, Layer } from "effect"
import { type AuditEvent } from "../../domain/Audit.ts"
import { type GatewayError } from "../../domain/Errors.ts"
import { isId } from "../../domain/Ids.ts"
import { type AuditQuery, AuditStore } from "../../store/audit/AuditStore.ts"
import {
  type RefusedAddress,
  RefusedCredentialStore,
  type RefusedQuery
} from "../../store/audit/RefusedCredentialStore.ts"
import { KeyRepo } from "../../store/keys/KeyRepo.ts"
import { Users } from "../../store/people/Users.ts"
import { orUnavailable } from "../StoreUnavailable.ts"

export interface AuditTrailQuery extends Omit<AuditQuery, "about"> {
  /** An id or a network address, or a part of a key's name or of a user's address. */
  readonly search?: string
}

export interface AuditPage {
  readonly events: ReadonlyArray<AuditEvent>
  readonly nextCursor: string | null
  /** The names of keys, and the addresses of users, by their ids. */
  readonly names: ReadonlyMap<string, string>
}

/** The most keys and users that a search finds, of each. */
const MOST_FOUND = 20

export class AuditTrail extends Context.Service<
  AuditTrail,
  {
    readonly list: (query: AuditTrailQuery) => Effect.Effect<AuditPage, GatewayError>
    /** Addresses with refused credentials, the last one seen first. Default: the last 30 days. */
    readonly refusedCredentials: (
      query: Partial<RefusedQuery> & { readonly limit: number }
    ) => Effect.Effect<ReadonlyArray<RefusedAddress>, GatewayError>
  }
>()("tollgate/gateway/admin/AuditTrail") {
  static readonly layer = Layer.effect(
    AuditTrail,
    Effect.gen(function* () {
      const store = yield* AuditStore
      const keys = yield* KeyRepo
      const users = yield* Users
      const refused = yield* RefusedCredentialStore

      const found = Effect.fnUntraced(function* (search: string) {
        const page = { limit: MOST_FOUND, cursor: null }
        const named = yield* keys.list({ ...page, search })
        const people = yield* users.list({ ...page, search: search.toLowerCase() })
        return [search, ...named.keys.map(({ id }) => id), ...people.users.map(({ id }) => id)]
      })

      const filterOf = Effect.fnUntraced(function* (search: string | undefined) {
        if (search === undefined) return {}
        return isId("aud", search) ? { id: search } : { about: yield* found(search) }
      })

      const namesOf = Effect.fnUntraced(function* (events: ReadonlyArray<AuditEvent>) {
        const ids = [...new Set(events.flatMap(({ actorId, target }) => [actorId ?? [], target ?? []].flat()))]
        const keyIds = ids.filter((id) => isId("key", id))
        const userIds = ids.filter((id) => isId("usr", id))
        const none: ReadonlyMap<string, string> = new Map()
        return new Map([
          ...(keyIds.length === 0 ? none : yield* keys.named(keyIds)),
          ...(userIds.length === 0 ? none : yield* users.named(userIds))
        ])
      })

      const list = Effect.fn("AuditTrail.list")(function* ({ search, ...query }: AuditTrailQuery) {
        const events = yield* store.list({ ...query, ...(yield* filterOf(search)), limit: query.limit + 1 })
        const page = events.slice(0, query.limit)
        const nextCursor = events.length > query.limit ? (page.at(-1)?.id ?? null) : null
        return { events: page, nextCursor, names: yield* namesOf(page) } satisfies AuditPage
      }, orUnavailable)

      return AuditTrail.of({
        list,
        refusedCredentials: (query) =>
          orUnavailable(refused.list({ fromMs: 0, toMs: Number.MAX_SAFE_INTEGER, ...query }))
      })
    })
  )
}
