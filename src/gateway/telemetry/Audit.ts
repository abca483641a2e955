/**
 * The audit trail: one log line (`event: audit`) for each change of keys, users, grants and
 * sessions, successful or refused, and for each refused credential. It contains the actor, their
 * network address, the request, the target and the outcome. It never contains a secret or text that
 * a client sent.
 */
import { Effect } from "effect"
import { CurrentActor } from "../../domain/Actor.ts"
import { type GatewayError } from "../../domain/Errors.ts"

export type AuditAction =
  | "credential.refuse"
  | "key.change"
  | "key.create"
  | "key.revoke"
  | "key.rotate"
  | "session.begin"
  | "session.end"
  | "session.reuse"
  | "user.admin"
  | "user.change"
  | "user.create"
  | "user.link"

export interface AuditEntry {
  readonly action: AuditAction
  /** The id of the target, or null when there is none. */
  readonly target: string | null
  /** `refused`: it was not allowed. `failed`: it could not be done. */
  readonly outcome: "done" | "refused" | "failed"
  readonly details?: Readonly<Record<string, unknown>>
}

export const audit = Effect.fnUntraced(function* ({ action, details, outcome, target }: AuditEntry) {
  const { address, id, kind, requestId } = yield* CurrentActor
  yield* Effect.annotateLogs(Effect.logWithLevel(outcome === "done" ? "Info" : "Warn")("audit"), {
    event: "audit",
    action,
    outcome,
    actor: kind,
    ...(id === null ? {} : { actor_id: id }),
    ...(target === null ? {} : { target }),
    ...(address === null ? {} : { address }),
    ...(requestId === null ? {} : { request_id: requestId }),
    ...details
  })
})

const idForm = /^[a-z]{3}_[0-9a-f]{32}$/

/**
 * Audits a change when it ends, successfully or not. `target` is the id from the request, or a
 * function that takes it from the result.
 */
export const audited = <A, R>(
  action: AuditAction,
  target: string | ((made: A) => string),
  change: Effect.Effect<A, GatewayError, R>,
  details: Readonly<Record<string, unknown>> = {}
): Effect.Effect<A, GatewayError, R> =>
  change.pipe(
    Effect.tap((made) =>
      audit({ action, target: typeof target === "string" ? target : target(made), outcome: "done", details })
    ),
    Effect.tapError(({ reason }) =>
      audit({
        action,
        // A target that does not have the form of an id may be any text of a client.
        target: typeof target === "string" && idForm.test(target) ? target : null,
        outcome: reason._tag === "DependencyUnavailable" ? "failed" : "refused",
        details: { ...details, cause: reason._tag }
      })
    )
  )

/** Audits a credential that is refused. */
export const auditRefusedCredential =
  (credential: string) =>
  <A, R>(opening: Effect.Effect<A, GatewayError, R>): Effect.Effect<A, GatewayError, R> =>
    Effect.tapError(opening, ({ reason }) =>
      reason._tag === "DependencyUnavailable"
        ? Effect.void
        : audit({
            action: "credential.refuse",
            target: null,
            outcome: "refused",
            details: { credential, cause: reason._tag }
          })
    )
