/**
 * The audit trail: changes of keys, users, grants, sessions and providers, done or refused, and the
 * credentials that were refused. It has no secret, and no text of a client except its request id.
 */
import { type Actor } from "./Actor.ts"

export const auditActions = [
  "key.change",
  "key.create",
  "key.revoke",
  "key.rotate",
  "provider.add",
  "provider.change",
  "provider.remove",
  "session.begin",
  "session.end",
  "session.reuse",
  "settings.reload",
  "user.admin",
  "user.change",
  "user.create",
  "user.link",
  "webhook.retry"
] as const
export type AuditAction = (typeof auditActions)[number]

/** `refused`: it was not allowed. `failed`: it could not be done. */
export const auditOutcomes = ["done", "refused", "failed"] as const
export type AuditOutcome = (typeof auditOutcomes)[number]

export const actorKinds = [
  "admin_key",
  "admin",
  "user",
  "api_key",
  "nobody",
  "gateway"
] as const satisfies ReadonlyArray<Actor["kind"]>

export interface AuditEvent {
  /** `aud_…`, of the time of the event. */
  readonly id: string
  readonly createdAtMs: number
  readonly action: AuditAction
  readonly outcome: AuditOutcome
  readonly actor: Actor["kind"]
  /** The id of the user or key, or null. */
  readonly actorId: string | null
  readonly address: string | null
  readonly requestId: string | null
  /** The id of what was changed, or null. */
  readonly target: string | null
  /** Facts of the action. `user`: the owner of a session. */
  readonly details: Readonly<Record<string, unknown>>
  /**
   * Usually 1. Of many alike refusals in one minute only the first have rows; the last row of the
   * minute stands for the others.
   */
  readonly count: number
}
