/**
 * The keys of a candidate's provider, in the order in which a request calls with them: those that
 * may be called, least busy first. If none may, the one that may be called soonest, so that the
 * receipt says why it was skipped.
 */
import { type Candidate, withEachKey } from "../../domain/Catalog.ts"
import { type Circuits } from "../health/Circuits.ts"
import { type InFlight } from "./InFlight.ts"

/**
 * The candidate with each key to call it with; the candidate itself if its provider has one key or
 * none. `clientKeyId`: the key of the client. Never empty.
 */
export type KeysOf = (candidate: Candidate, clientKeyId: string) => ReadonlyArray<Candidate>

export const makeKeysOf =
  (circuits: Circuits["Service"], inFlight: InFlight): KeysOf =>
  (candidate, clientKeyId) => {
    if (candidate.provider.apiKeys === undefined) return [candidate]
    const lockedMs = (keyed: Candidate) => circuits.lockedMs(keyed, clientKeyId)
    const all = withEachKey(candidate)
    const callable = all.filter((keyed) => lockedMs(keyed) === 0)
    return callable.length > 0
      ? inFlight.leastFirst(callable)
      : all.toSorted((a, b) => lockedMs(a) - lockedMs(b)).slice(0, 1)
  }
