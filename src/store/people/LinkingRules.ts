/** What an identity that is new has to keep to before it leads to a user. */
import { Data } from "effect"

/** What an arrival has to keep to. A second account of one mailbox (see domain/Mailbox) is granted a budget of 0. */
export interface LinkingRules {
  /** Whether there may be a new user. */
  readonly mayCreate: boolean
  /** At most so many users are made after `createdSinceMs`. */
  readonly maxCreated: number
  readonly createdSinceMs: number
  /** The account of an admin who has signed in before gets a new identity only if it is this one. Absent: nobody asks. */
  readonly provenId?: string | null
}

/** `closed`: there may be no new user; `full`: there were enough of late; `unproven`: the account is an admin's. Nothing was written. */
export class LinkingRefused extends Data.TaggedError("ArrivalRefused")<{
  readonly fault: "closed" | "full" | "unproven"
}> {}
