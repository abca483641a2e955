/**
 * The calls to providers for one request, as immutable data: the attempts, charges for calls other
 * than the one that answers, and the continuation of a broken stream. The router keeps the current
 * record in its AttemptLog; billing reads it when the request ends.
 */
import { Effect } from "effect"
import { type Candidate } from "../../domain/Catalog.ts"
import { toldNames } from "../../domain/json/MemberNames.ts"
import { type Attempt, type Sticky } from "../../domain/Generation.ts"
import { type TokenUsage } from "../../domain/pricing/Money.ts"
import { nativeFor, type NativeRequest } from "../../domain/Native.ts"
import { priceUsage } from "../../domain/pricing/Pricing.ts"
import { type ProviderError } from "../../providers/Provider.ts"
import { type PromptTokens } from "../../domain/PromptTokens.ts"

/**
 * A call that is charged although another call ends the request. Its output is counted by the
 * gateway, because providers report it only at the end. So is its prompt, unless the provider
 * reported that before.
 */
export interface Charge {
  readonly candidate: Candidate
  readonly usage: TokenUsage
}

/** The call that continues a stream which broke off. */
export interface Continuation {
  readonly candidate: Candidate
  /** Tokens of the request's prompt and of the text so far. */
  readonly promptTokens: number
  /** Output tokens of the calls before it. */
  readonly producedTokens: number
}

/** `native`: providers of this API get them. */
export interface Untranslated {
  readonly members: ReadonlyArray<string>
  readonly native?: NativeRequest | undefined
}

export interface AttemptRecord {
  /** Whether the conversation stayed where it was; null: it had one place to go to. */
  readonly sticky: Sticky | null
  /** One for each call, in the order in which they ended. */
  readonly attempts: ReadonlyArray<Attempt>
  readonly charges: ReadonlyArray<Charge>
  /** Null: no stream was continued. */
  readonly continuation: Continuation | null
  /**
   * Returns the completion tokens of the current whole reply so far; null: no whole reply is
   * observed.
   */
  readonly produced: (() => number) | null
  /** The number of running calls. */
  readonly calls: number
  /**
   * The members of the request that a candidate did not get. Null: every candidate got all of them.
   */
  readonly leftOut: ReadonlyMap<Candidate, ReadonlyArray<string>> | null
  /**
   * The usage of their prompts that providers reported before the end of a stream, for the last
   * call of each model at each provider. Null: none did.
   */
  readonly prompts: ReadonlyMap<string, TokenUsage> | null
  /** Members of the client's request that a chat request leaves out. */
  readonly untranslated?: Untranslated
}

/** Billing's view of the router's log. */
export interface Attempts {
  /** The current record. */
  readonly record: AttemptRecord
}

export const noAttempts: AttemptRecord = {
  attempts: [],
  charges: [],
  continuation: null,
  produced: null,
  calls: 0,
  leftOut: null,
  sticky: null,
  prompts: null
}

/** The members of the request that `candidate` did not get. */
export const leftOutBy = (
  { leftOut, untranslated }: AttemptRecord,
  candidate: Candidate | null
): ReadonlyArray<string> => {
  const own = (candidate === null ? undefined : leftOut?.get(candidate)) ?? []
  if (untranslated === undefined) return own
  return candidate !== null && nativeFor(untranslated, candidate) !== undefined
    ? own
    : toldNames([...untranslated.members, ...own])
}

/** The keys of a provider share a name: a request calls with one after another. */
const callName = ({ offer, provider }: Candidate): string => `${provider.slug}|${offer.id}`

/** The record with the usage of a prompt, as the provider reported it. Null: not reported. */
export const withPrompt = (record: AttemptRecord, candidate: Candidate, usage: TokenUsage | null): AttemptRecord => {
  const name = callName(candidate)
  if (usage === null && record.prompts?.has(name) !== true) return record
  const prompts = new Map(record.prompts ?? [])
  if (usage === null) prompts.delete(name)
  else prompts.set(name, usage)
  return { ...record, prompts }
}

/** The usage of the prompt that the provider reported; null if it did not. */
export const reportedPrompt = ({ prompts }: AttemptRecord, candidate: Candidate): TokenUsage | null =>
  prompts?.get(callName(candidate)) ?? null

/**
 * The tokens of the prompt of a call that has no end, counted if its provider did not report them.
 */
export const chargedPrompt = (
  record: AttemptRecord,
  candidate: Candidate,
  prompt: PromptTokens
): Effect.Effect<number> => {
  const reported = reportedPrompt(record, candidate)
  return reported === null ? prompt.count() : Effect.succeed(reported.promptTokens)
}

/**
 * The charge for a call that was aborted: its prompt, as the provider reported it or as it is
 * counted here, and its output.
 */
export const abortedCharge = (
  record: AttemptRecord,
  candidate: Candidate,
  promptTokens: number,
  completionTokens: number
): Charge => ({
  candidate,
  usage: { ...(reportedPrompt(record, candidate) ?? { promptTokens, cachedTokens: 0 }), completionTokens }
})

/** The record with a charge for the attempt at `at`. The attempt shows it. */
export const withCharge = (record: AttemptRecord, charge: Charge, at: number): AttemptRecord => {
  const { candidate, usage } = charge
  const { totalNano } = priceUsage(usage, candidate.offer.pricing, 0)
  return { ...withChange(record, at, { charge: { usage, totalNano } }), charges: [...record.charges, charge] }
}

/** The index of the attempt whose stream is being read; -1 if there is none. */
export const answeringIndex = ({ attempts }: AttemptRecord): number =>
  attempts.findLastIndex(({ status }) => status === "ok")

/** The record after the stream of the answering attempt broke off. */
export const withBrokenStream = (record: AttemptRecord, { reason }: ProviderError): AttemptRecord => {
  const isTimeout = reason._tag === "TimedOut"
  return withChange(record, answeringIndex(record), {
    status: isTimeout ? "timeout" : "error",
    errorType: isTimeout ? "timeout" : "stream_cut"
  })
}

/** The record with the attempt at `at` changed; unchanged if there is none. */
export const withChange = (record: AttemptRecord, at: number, change: Partial<Attempt>): AttemptRecord => {
  const attempt = record.attempts[at]
  return attempt === undefined ? record : { ...record, attempts: record.attempts.with(at, { ...attempt, ...change }) }
}
