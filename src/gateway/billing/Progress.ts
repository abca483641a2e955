/** How far an order is: what its reservation says of it from the beginning, and with each heartbeat. */
import { type NanoUsd } from "../../domain/Money.ts"
import { type Progress } from "../../store/ledger/Ledger.ts"
import { costFor, countedUsage, type Outcome, generationOf, noUsage } from "./Outcome.ts"
import { type Origin } from "../request/Answer.ts"
import { interruptedCalls } from "./ClientDisconnect.ts"
import { noAttempts } from "../request/AttemptRecord.ts"
import { type Order } from "../request/Order.ts"
import { type OutputCounter } from "../tokens/Tokens.ts"

/** What an answer has shown so far. */
interface Shown {
  readonly answer: Origin
  readonly seen: { readonly output: Pick<OutputCounter, "peek"> }
  readonly timeToFirstTokenMs: number
}

/** How an order would end now, by what its answer has shown; null: nobody answers yet. */
export const endingSoFar = (order: Order, shown: Shown | undefined): Outcome | null => {
  const { record } = order.log
  const candidate =
    record.continuation?.candidate ?? shown?.answer.candidate ?? interruptedCalls(order, record)[0]?.candidate
  if (candidate === undefined) return null
  return {
    ...noUsage,
    record,
    candidate,
    usage: countedUsage(order, record, shown?.seen.output.peek() ?? record.produced?.() ?? 0),
    usageSource: shown?.answer.source === "cache" ? "cache" : "counted",
    timeToFirstTokenMs: shown?.timeToFirstTokenMs ?? null
  }
}

/** Before anybody answers: the prompt, at whoever is asked first. */
const beginningOf = (order: Order): Outcome => ({
  ...noUsage,
  candidate: order.ranked[0] ?? null,
  usage: countedUsage(order, noAttempts, 0)
})

/**
 * `soFar`: null where nobody has answered yet. `heldNano`: what is held for it, beyond which a key with a cap is not charged. Null: nobody may
 * serve the order.
 */
export const progressOf = (
  order: Order,
  soFar: Outcome | null,
  { heldNano, markup, nowMs }: { readonly heldNano: NanoUsd; readonly markup: number; readonly nowMs: number }
): Progress | null => {
  if (order.ranked.length === 0) return null
  const ending = soFar ?? beginningOf(order)
  const cost = costFor(ending, markup)
  const uncharged = order.caller.key.monthlyBudgetNano === null ? 0 : Math.max(0, cost.billedNano - heldNano)
  const { latencyMs, model, price, provider, streamed, timeToFirstTokenMs, usage } = generationOf(
    order,
    ending,
    nowMs,
    cost
  )
  // An answer out of the cache costs nothing.
  const promptNano = Math.min(cost.promptNano, cost.totalNano)
  return {
    provider,
    model,
    streamed,
    promptTokens: usage.promptTokens,
    completionTokens: usage.completionTokens,
    promptNano,
    completionNano: cost.totalNano - promptNano,
    markupNano: cost.markupNano - uncharged,
    latencyMs,
    timeToFirstTokenMs,
    price
  }
}
