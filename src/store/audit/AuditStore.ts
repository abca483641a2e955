/** The events of the audit trail, read newest first. */
import { Context, type Effect } from "effect"
import { type Actor } from "../../domain/Actor.ts"
import { type AuditAction, type AuditEvent, type AuditOutcome } from "../../domain/Audit.ts"
import { type StoreError } from "../StoreError.ts"

/** An absent member does not filter. `fromMs` is inclusive, `toMs` exclusive. */
export interface AuditQuery {
  readonly limit: number
  /** Only ids below this one. */
  readonly cursor: string | null
  readonly action?: AuditAction
  readonly outcome?: AuditOutcome
  readonly actor?: Actor["kind"]
  readonly actorId?: string
  /** A user's id also finds the user's sessions. */
  readonly target?: string
  readonly address?: string
  readonly requestId?: string
  readonly id?: string
  readonly fromMs?: number
  readonly toMs?: number
  /** Only events with one of these texts as actor, target, address or request. */
  readonly about?: ReadonlyArray<string>
}

export interface OldAuditEvents {
  readonly beforeMs: number
  /** All but this many of the newest are deleted too. */
  readonly most: number
  readonly limit: number
}

export class AuditStore extends Context.Service<
  AuditStore,
  {
    /** A second call with the same ids has no effect. */
    readonly add: (events: ReadonlyArray<AuditEvent>) => Effect.Effect<void, StoreError>
    /** Newest first, by descending id. At most `limit`. */
    readonly list: (query: AuditQuery) => Effect.Effect<ReadonlyArray<AuditEvent>, StoreError>
    /** Deletes at most `limit` events, the oldest first. Returns how many. */
    readonly deleteOld: (old: OldAuditEvents) => Effect.Effect<number, StoreError>
  }
>()("tollgate/store/audit/AuditStore") {}
