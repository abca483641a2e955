/**
 * The audit trail: one line of log (`event: audit`) for each change of keys, users, grants and sessions, made or refused, and for each
 * credential that opened nothing. It says who acted, from which network address, in which request, on what, and how it ended; never a
 * secret, and nothing that a client wrote.
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
  /** The id of what was acted on; `null`: there is none. */
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

/** Writes a change down when it ended, well or not. `target`: its id as it was asked for, or what it is in what was made. */
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
        // What is no id may be anything that a client wrote.
        target: typeof target === "string" && idForm.test(target) ? target : null,
        outcome: reason._tag === "DependencyUnavailable" ? "failed" : "refused",
        details: { ...details, cause: reason._tag }
      })
    )
  )

/** Writes a credential down that opened nothing. */
export const refusedCredential =
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
