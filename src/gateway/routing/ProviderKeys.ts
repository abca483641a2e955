/**
 * The keys of a candidate's provider, in the order in which a request calls with them: those that
 * may be called, least busy first. If none may, the one that may be called soonest, so that the
 * receipt says why it was skipped.
 */
import { type Candidate, keyName, withEachKey } from "../../domain/Catalog.ts"
import { type Circuits } from "../health/Circuits.ts"
import { type InFlight } from "./InFlight.ts"

/**
 * The candidate with each key to call it with; the candidate itself if its provider has one key or
 * none. `clientKeyId`: the key of the client. `first`: the `keyName` of the key that comes first if
 * it may be called. Never empty.
 */
export type KeysOf = (candidate: Candidate, clientKeyId: string, first?: string) => ReadonlyArray<Candidate>

export const makeKeysOf =
  (circuits: Circuits["Service"], inFlight: InFlight): KeysOf =>
  (candidate, clientKeyId, first) => {
    if (candidate.provider.apiKeys === undefined) return [candidate]
    const lockedMs = (keyed: Candidate) => circuits.lockedMs(keyed, clientKeyId)
    const all = withEachKey(candidate)
    const callable = all.filter((keyed) => lockedMs(keyed) === 0)
    if (callable.length === 0) return all.toSorted((a, b) => lockedMs(a) - lockedMs(b)).slice(0, 1)
    const spread = inFlight.leastFirst(callable)
    const warm = first === undefined ? undefined : spread.find((keyed) => keyName(keyed) === first)
    return warm === undefined ? spread : [warm, ...spread.filter((keyed) => keyed !== warm)]
  }
