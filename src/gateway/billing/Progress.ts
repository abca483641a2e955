/**
 * The progress of a request, which its reservation records at the beginning and with each
 * heartbeat.
 */
import { type NanoUsd } from "../../domain/pricing/Money.ts"
import { type Progress } from "../../store/ledger/Ledger.ts"
import {
  answeredRequest,
  costFor,
  countedUsage,
  mainPricesOf,
  modelOf,
  noUsage,
  type Outcome,
  providerOf,
  usageOf
} from "./Outcome.ts"
import { interruptedCalls } from "./ClientDisconnect.ts"
import { noAttempts } from "../request/AttemptRecord.ts"
import { type RequestPlan } from "../request/RequestPlan.ts"
import { type MeteredRequest } from "./Reservation.ts"

/** The outcome if the request ended now; null before an answer begins. */
export const outcomeSoFar = ({ log, plan, reservation }: MeteredRequest): Outcome | null => {
  const { record } = log
  const { shown } = reservation
  const candidate =
    record.continuation?.candidate ?? shown?.answer.candidate ?? interruptedCalls(plan, record)[0]?.candidate
  if (candidate === undefined) return null
  return {
    ...noUsage,
    record,
    candidate,
    usage: countedUsage(plan, record, candidate, shown?.seen.output.peek() ?? record.produced?.() ?? 0),
    usageSource: shown?.answer.source === "cache" ? "cache" : "counted",
    timeToFirstTokenMs: shown?.timeToFirstTokenMs ?? null
  }
}

/** The outcome before an answer begins: the prompt, at the first candidate. */
const initialOutcome = (plan: RequestPlan): Outcome => ({
  ...noUsage,
  candidate: plan.ranked[0] ?? null,
  usage: countedUsage(plan, noAttempts, null, 0)
})

/**
 * `soFar`: null before an answer begins. `heldNano`: the reservation, beyond which a key with a cap
 * is not charged. Returns null if the plan has no candidate.
 */
export const progressOf = (
  plan: RequestPlan,
  soFar: Outcome | null,
  { heldNano, markup, nowMs }: { readonly heldNano: NanoUsd; readonly markup: number; readonly nowMs: number }
): Progress | null => {
  if (plan.ranked.length === 0) return null
  const ending = soFar ?? initialOutcome(plan)
  const cost = costFor(ending, markup)
  const uncharged = plan.caller.key.monthlyBudgetNano === null ? 0 : Math.max(0, cost.billedNano - heldNano)
  const usage = usageOf(ending)
  // Without the discount. A cache hit costs nothing.
  const promptNano = Math.min(Math.max(0, cost.promptNano - cost.cacheDiscountNano), cost.totalNano)
  return {
    provider: providerOf(ending),
    model: modelOf(plan, ending),
    streamed: plan.streamed,
    promptTokens: usage.promptTokens,
    completionTokens: usage.completionTokens,
    promptNano,
    completionNano: cost.totalNano - promptNano,
    markupNano: cost.markupNano - uncharged,
    lines: cost.lines,
    latencyMs: nowMs - plan.startedAtMs,
    timeToFirstTokenMs: ending.timeToFirstTokenMs,
    price: mainPricesOf(ending),
    ...(plan.origin === undefined ? {} : { request: answeredRequest(plan.origin, plan.streamed, ending) })
  }
}
