/**
 * Room in a capped key's budget for one more order. An order asks for its worst case, or for a slice of it where its output can be
 * watched. What others hold at worst they mostly give back, so an order that would fit without them waits for its turn; one
 * that does not fit what is spent already is refused at once. At last the output is bounded to what is left.
 */
import { Clock, Effect } from "effect"
import { type GatewayError } from "../../domain/Errors.ts"
import { type NanoUsd } from "../../domain/Money.ts"
import { type Balance, type ReserveResult } from "../../store/ledger/Ledger.ts"
import { type BudgetLine, type BudgetQueue } from "./BudgetQueue.ts"
import { type Estimate, estimateOf } from "./Estimate.ts"
import { type Order } from "../request/Order.ts"
import { firstSlice, roomOf } from "./IncrementalReservation.ts"
import { waitWithinDeadline } from "../request/ClientDeadline.ts"

/** How long a request waits for others of its key to settle, while they hold what it needs. */
const LONGEST_WAIT_MS = 10_000

export type ReserveOutcome =
  { readonly _tag: "Reserved" } | { readonly _tag: "Refused"; readonly balance: Balance; readonly neededNano: NanoUsd }

export interface Reserving {
  readonly markup: number
  readonly queue: BudgetQueue
  /** Writes the reservation, if the cap has room for it. */
  readonly write: (order: Order, amountNano: NanoUsd) => Effect.Effect<ReserveResult, GatewayError>
  /** Notes that it was written. */
  readonly open: (order: Order, amountNano: NanoUsd) => ReserveOutcome
}

export const makeReserve = ({ markup, open, queue, write }: Reserving) => {
  /** Holds what the budget affords of the output, at the most what is left. */
  const reserveRest = Effect.fnUntraced(function* (order: Order, estimate: Estimate, balance: Balance) {
    const { outputTokens, promptNano, tokenNano } = estimate
    const room = roomOf(order, balance)
    const tokens = Math.floor((room - promptNano) / Math.max(tokenNano * order.choices, 1e-9))
    if (outputTokens === null || tokens < 1) return null
    const clamped = Math.min(tokens, outputTokens)
    const amountNano = Math.min(room, Math.ceil(promptNano + clamped * tokenNano * order.choices))
    const result = yield* write(order, amountNano)
    if (result._tag === "Refused") return null
    order.affordableTokens = clamped
    order.account.clamped = true
    order.account.heldTokens = tokenNano === 0 ? null : clamped * order.choices
    return open(order, amountNano)
  })

  const tryReserve = Effect.fnUntraced(function* (order: Order, wanted: Wanted) {
    const result = yield* write(order, wanted.amountNano)
    if (result._tag === "Refused") return result
    const { outputTokens, tokenNano } = wanted.estimate
    order.account.sliced = wanted.slice !== null
    order.account.heldTokens =
      wanted.slice ?? (outputTokens === null || tokenNano === 0 ? null : outputTokens * order.choices)
    if (wanted.slice === null) order.affordableTokens = outputTokens
    return open(order, wanted.amountNano)
  })

  const waitInLine = Effect.fnUntraced(function* (order: Order, wanted: Wanted, line: BudgetLine, place: number) {
    for (;;) {
      const seen = line.news
      const result = yield* tryReserve(order, wanted)
      if (result._tag === "Reserved") return result
      const { balance } = result
      const refused: ReserveOutcome = { _tag: "Refused", balance, neededNano: wanted.amountNano }
      if (wanted.smallestNano > roomOf(order, { ...balance, reservedNano: 0 })) return refused
      const isLate = (yield* Clock.currentTimeMillis) - order.startedAtMs >= LONGEST_WAIT_MS
      if (balance.reservedNano === 0 || isLate) {
        const rest = yield* reserveRest(order, wanted.estimate, balance)
        if (rest !== null) return rest
        if (isLate) return refused
      }
      yield* line.wait(seen, place)
    }
  })

  return Effect.fnUntraced(function* (order: Order) {
    const wanted = wantedBy(order, markup)
    const first = yield* tryReserve(order, wanted)
    return first._tag === "Reserved"
      ? first
      : yield* waitWithinDeadline(
          order,
          queue.join(order.caller.key.id, (line, place) => waitInLine(order, wanted, line, place))
        )
  })
}

/** What an order asks for. `slice`: output tokens that it pays for, or null for all; `smallestNano`: less is of no use. */
interface Wanted {
  readonly estimate: Estimate
  readonly slice: number | null
  readonly amountNano: NanoUsd
  readonly smallestNano: number
}

/** What an order of a capped key holds before its work begins, where the budget has room for it. */
export const neededNano = (order: Order, markup: number): NanoUsd => wantedBy(order, markup).amountNano

const wantedBy = (order: Order, markup: number): Wanted => {
  const estimate = estimateOf(order, markup)
  // It will end without a call; but first it is told of a budget that is used up.
  if (order.ranked.length === 0) return { estimate, slice: null, amountNano: 1, smallestNano: 1 }
  const { outputTokens, promptNano, tokenNano } = estimate
  const slice = firstSlice(order, estimate)
  const amountNano = slice === null ? estimate.amountNano : Math.ceil(promptNano + slice * tokenNano)
  const smallestNano = outputTokens === null ? amountNano : Math.min(amountNano, promptNano + tokenNano * order.choices)
  return { estimate, slice, amountNano, smallestNano }
}
