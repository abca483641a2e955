/**
 * What was done for one request at providers, as immutable data: the calls, what they cost in addition to the call that answers, and
 * who continues a broken stream. The router keeps the current record in its AttemptLog; billing reads it when the request ends.
 */
import { type Candidate } from "../../domain/Catalog.ts"
import { type Attempt } from "../../domain/Generation.ts"
import { priceUsage, type TokenUsage } from "../../domain/Money.ts"
import { type ProviderError } from "../../providers/Provider.ts"

/** A call that is paid for although another call ends the request. Its usage is counted here: providers report theirs at the end. */
export interface Charge {
  readonly candidate: Candidate
  readonly usage: TokenUsage
}

/** The call that continues a stream which broke off. */
export interface Continuation {
  readonly candidate: Candidate
  /** Of the request's own prompt and the text so far. */
  readonly promptTokens: number
  /** Output of the calls before it. */
  readonly producedTokens: number
}

export interface AttemptRecord {
  /** One a call, in the order in which they ended. */
  readonly attempts: ReadonlyArray<Attempt>
  readonly charges: ReadonlyArray<Charge>
  /** Null: no stream had to be continued. */
  readonly continuation: Continuation | null
  /** Reads how many completion tokens the whole reply under way has so far; null: no whole reply is being watched. */
  readonly produced: (() => number) | null
  /** Calls under way. */
  readonly calls: number
}

/** What billing sees of the router's log. */
export interface Attempts {
  /** As it is now. */
  readonly record: AttemptRecord
}

export const noAttempts: AttemptRecord = { attempts: [], charges: [], continuation: null, produced: null, calls: 0 }

/** The charge for a call that was ended before its first token: its prompt. */
export const promptCharge = (candidate: Candidate, promptTokens: number): Charge => ({
  candidate,
  usage: { promptTokens, completionTokens: 0, cachedTokens: 0 }
})

/** The record with a charge for the attempt at `at`, which shows it. */
export const charged = (record: AttemptRecord, charge: Charge, at: number): AttemptRecord => {
  const { candidate, usage } = charge
  const { totalNano } = priceUsage(usage, candidate.offer.pricing, 0)
  return { ...changed(record, at, { charge: { usage, totalNano } }), charges: [...record.charges, charge] }
}

/** The place of the attempt whose stream is being read; -1: there is none. */
export const answeringAt = ({ attempts }: AttemptRecord): number =>
  attempts.findLastIndex(({ status }) => status === "ok")

/** The record once the stream of the attempt that answered broke. */
export const brokenOff = (record: AttemptRecord, { reason }: ProviderError): AttemptRecord => {
  const isTimeout = reason._tag === "TimedOut"
  return changed(record, answeringAt(record), {
    status: isTimeout ? "timeout" : "error",
    errorType: isTimeout ? "timeout" : "stream_cut"
  })
}

/** The record with the attempt at `at` changed; as it is where there is none. */
export const changed = (record: AttemptRecord, at: number, change: Partial<Attempt>): AttemptRecord => {
  const attempt = record.attempts[at]
  return attempt === undefined ? record : { ...record, attempts: record.attempts.with(at, { ...attempt, ...change }) }
}
