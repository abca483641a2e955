/** The rules for linking a new identity to a user. */
import { Data } from "effect"

/**
 * The rules for a new identity. A second account of one mailbox (see domain/Mailbox) is granted a
 * budget of 0.
 */
export interface LinkingRules {
  /** Whether a new user may be created. */
  readonly mayCreate: boolean
  /** Most users that may be created after `createdSinceMs`. */
  readonly maxCreated: number
  readonly createdSinceMs: number
  /**
   * The user that the caller has proved to be. An admin who has signed in before gets a new
   * identity only if this is their id. Absent: not checked.
   */
  readonly provenId?: string | null
}

/**
 * `closed`: no new users are allowed. `full`: too many were created recently. `unproven`: the
 * account belongs to an admin. Nothing was written.
 */
export class LinkingRefused extends Data.TaggedError("LinkingRefused")<{
  readonly fault: "closed" | "full" | "unproven"
}> {}
