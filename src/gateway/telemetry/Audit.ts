/**
 * The audit trail. Each change of keys, users, grants and sessions, done or refused, is a log line
 * (`event: audit`) and a row; each refused credential is a line, and counts. Line and row follow
 * the change before its response is sent, and an interruption cannot come between.
 *
 * A line and a row contain the actor, their network address, the request, the target and the
 * outcome. They never contain a secret or text that a client sent.
 */
import { Clock, Context, Effect } from "effect"
import { CurrentActor } from "../../domain/Actor.ts"
import { type AuditAction, type AuditEvent, type AuditOutcome } from "../../domain/Audit.ts"
import { type GatewayError } from "../../domain/Errors.ts"

export interface AuditEntry {
  readonly action: AuditAction
  /** The id of the target, or null when there is none. */
  readonly target: string | null
  readonly outcome: AuditOutcome
  readonly details?: Readonly<Record<string, unknown>>
}

/** An event that has no id yet. */
export type Audited = Omit<AuditEvent, "id" | "count">

interface LineFacts extends Omit<Audited, "action"> {
  readonly action: AuditAction | "credential.refuse"
}

const writeLine = ({ action, actor, actorId, address, details, outcome, requestId, target }: LineFacts) =>
  Effect.annotateLogs(Effect.logWithLevel(outcome === "done" ? "Info" : "Warn")("audit"), {
    event: "audit",
    action,
    outcome,
    actor,
    ...(actorId === null ? {} : { actor_id: actorId }),
    ...(target === null ? {} : { target }),
    ...(address === null ? {} : { address }),
    ...(requestId === null ? {} : { request_id: requestId }),
    ...details
  })

const factsOf = Effect.fnUntraced(function* <Entry extends { readonly details?: LineFacts["details"] }>(entry: Entry) {
  const { address, id, kind, requestId } = yield* CurrentActor
  const createdAtMs = yield* Clock.currentTimeMillis
  return { ...entry, createdAtMs, actor: kind, actorId: id, address, requestId, details: entry.details ?? {} }
})

const idForm = /^[a-z]{3}_[0-9a-f]{32}$/

export interface AuditRecords {
  /** Stores the row of a change. */
  readonly record: (event: Audited) => Effect.Effect<void>
  /** Counts a refused credential of a kind. */
  readonly count: (address: string | null, credential: string) => void
}

export const makeAuditLog = ({ count, record }: AuditRecords) => {
  const audit = Effect.fnUntraced(function* (entry: AuditEntry) {
    const facts = yield* factsOf(entry)
    yield* writeLine(facts)
    yield* record(facts)
  }, Effect.uninterruptible)

  /**
   * Audits a change when it ends, successfully or not. `target` is the id from the request, or a
   * function that takes it from the result.
   */
  const audited = <A, R>(
    action: AuditAction,
    target: string | null | ((made: A) => string),
    change: Effect.Effect<A, GatewayError, R>,
    details: Readonly<Record<string, unknown>> = {}
  ): Effect.Effect<A, GatewayError, R> =>
    change.pipe(
      Effect.tap((made) =>
        audit({ action, target: typeof target === "function" ? target(made) : target, outcome: "done", details })
      ),
      Effect.tapError(({ reason }) =>
        audit({
          action,
          // A target that does not have the form of an id may be any text of a client.
          target: typeof target === "string" && idForm.test(target) ? target : null,
          outcome: reason._tag === "DependencyUnavailable" ? "failed" : "refused",
          details: { ...details, cause: reason._tag }
        })
      ),
      Effect.uninterruptible
    )

  /** Audits a credential that is refused. */
  const auditRefusedCredential =
    (credential: string) =>
    <A, R>(opening: Effect.Effect<A, GatewayError, R>): Effect.Effect<A, GatewayError, R> =>
      Effect.tapError(opening, ({ reason }) =>
        reason._tag === "DependencyUnavailable"
          ? Effect.void
          : Effect.flatMap(
              Effect.tap(
                factsOf({
                  action: "credential.refuse",
                  target: null,
                  outcome: "refused",
                  details: { credential, cause: reason._tag }
                } as const),
                ({ address }) => Effect.sync(() => count(address, credential))
              ),
              writeLine
            )
      )

  return { audit, audited, auditRefusedCredential }
}

/** By default it writes lines only. */
export const AuditLog = Context.Reference<ReturnType<typeof makeAuditLog>>("tollgate/gateway/telemetry/AuditLog", {
  defaultValue: () => makeAuditLog({ record: () => Effect.void, count: () => undefined })
})
