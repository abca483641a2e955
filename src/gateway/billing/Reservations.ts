/**
 * Reserves budget of a capped key for one more request. A request asks for its worst case, or for a
 * slice of it if its output is visible. Running requests usually release most of their worst case,
 * so a request that would fit without their reservations waits in the key's queue. A request that
 * does not fit beside what is already spent is refused at once. At last the output is limited to
 * the rest of the budget.
 */
import { Clock, Effect } from "effect"
import { type GatewayError } from "../../domain/Errors.ts"
import { type NanoUsd } from "../../domain/pricing/Money.ts"
import { ROUGH_SHARE } from "../../domain/PromptTokens.ts"
import { type Balance, type ReserveResult } from "../../store/ledger/Ledger.ts"
import { type BudgetLine, type BudgetQueue } from "./BudgetQueue.ts"
import { type Estimate, estimateOf } from "./Estimate.ts"
import { type RequestPlan } from "../request/RequestPlan.ts"
import { type Held, type MeteredRequest } from "./Reservation.ts"
import { firstSlice, remainingNano } from "./IncrementalReservation.ts"
import { waitWithinDeadline } from "../request/ClientDeadline.ts"

/** How long a request waits while other requests of its key hold the budget it needs. */
const LONGEST_WAIT_MS = 10_000

/**
 * The bound of a prompt is reserved instead of its count if it fits below this share of the cap.
 * Nearer to the cap the count is reserved, so that a request is not refused for a bound.
 */
const AMPLE_SHARE = 0.5
const MOST_SCARCE = 10_000

const capOf = ({ plan }: MeteredRequest): NanoUsd => plan.caller.key.monthlyBudgetNano ?? 0

interface Reserved {
  readonly _tag: "Reserved"
}

export type ReserveOutcome =
  Reserved | { readonly _tag: "Refused"; readonly balance: Balance; readonly neededNano: NanoUsd }

export interface ReserveOptions {
  readonly markup: number
  readonly queue: BudgetQueue
  /**
   * Writes the reservation if there is room for it below `capNano`: the key's cap, or a part of it.
   */
  readonly write: (
    request: MeteredRequest,
    amountNano: NanoUsd,
    capNano: NanoUsd
  ) => Effect.Effect<ReserveResult, GatewayError>
  /** Called after the reservation was written. */
  readonly open: (request: MeteredRequest, held: Held) => Reserved
}

export const makeReserve = ({ markup, open, queue, write }: ReserveOptions) => {
  /** Reserves as much of the output as the rest of the budget affords. */
  const reserveRest = Effect.fnUntraced(function* (request: MeteredRequest, estimate: Estimate, balance: Balance) {
    const { outputTokens, promptNano, tokenNano } = estimate
    const { choices } = request.plan
    const room = remainingNano(request.plan, balance)
    const tokens = Math.floor((room - promptNano) / Math.max(tokenNano * choices, 1e-9))
    if (outputTokens === null || tokens < 1) return null
    const clamped = Math.min(tokens, outputTokens)
    const amountNano = Math.min(room, Math.ceil(promptNano + clamped * tokenNano * choices))
    const result = yield* write(request, amountNano, capOf(request))
    if (result._tag === "Refused") return null
    return open(request, {
      amountNano,
      tokens: tokenNano === 0 ? null : clamped * choices,
      affordableTokens: clamped,
      isSliced: false,
      isClamped: true
    })
  })

  const tryReserve = (
    request: MeteredRequest,
    { amountNano, estimate, slice }: Wanted,
    capNano = capOf(request)
  ): Effect.Effect<Exclude<ReserveResult, { readonly _tag: "Reserved" }> | Reserved, GatewayError> =>
    Effect.map(write(request, amountNano, capNano), (result) => {
      if (result._tag === "Refused") return result
      const { outputTokens, tokenNano } = estimate
      return open(request, {
        amountNano,
        tokens: slice ?? (outputTokens === null || tokenNano === 0 ? null : outputTokens * request.plan.choices),
        affordableTokens: slice === null ? outputTokens : null,
        isSliced: slice !== null,
        isClamped: false
      })
    })

  const waitInLine = Effect.fnUntraced(function* (
    request: MeteredRequest,
    wanted: Wanted,
    line: BudgetLine,
    place: number
  ) {
    for (;;) {
      const seen = line.news
      const result = yield* tryReserve(request, wanted)
      if (result._tag === "Reserved") return result
      const { balance } = result
      const refused: ReserveOutcome = { _tag: "Refused", balance, neededNano: wanted.amountNano }
      if (wanted.smallestNano > remainingNano(request.plan, { ...balance, reservedNano: 0 })) return refused
      const isLate = (yield* Clock.currentTimeMillis) - request.plan.startedAtMs >= LONGEST_WAIT_MS
      if (balance.reservedNano === 0 || isLate) {
        const rest = yield* reserveRest(request, wanted.estimate, balance)
        if (rest !== null) return rest
        if (isLate) return refused
      }
      yield* line.wait(seen, place)
    }
  })

  /** Keys of whose cap more than the ample part was taken, with the month. */
  const scarce = new Map<string, string>()

  /** Reserves the bound of a prompt while much of the cap is left. Null: it did not. */
  const reserveBound = (request: MeteredRequest): Effect.Effect<Reserved | null, GatewayError> => {
    const { caller, month, prompt } = request.plan
    if (prompt.isCounted || scarce.get(caller.key.id) === month) return Effect.succeed(null)
    const cap = capOf(request)
    let wanted = wantedBy(request.plan, markup)
    if (prompt.isRough && wanted.amountNano > cap * ROUGH_SHARE) {
      prompt.bound()
      wanted = wantedBy(request.plan, markup)
    }
    return Effect.map(tryReserve(request, wanted, Math.floor(cap * AMPLE_SHARE)), (first) => {
      if (first._tag === "Reserved") return first
      if (scarce.size >= MOST_SCARCE) scarce.clear()
      scarce.set(caller.key.id, month)
      return null
    })
  }

  const reserveCount = (request: MeteredRequest): Effect.Effect<ReserveOutcome, GatewayError> => {
    const wanted = wantedBy(request.plan, markup)
    return Effect.flatMap(tryReserve(request, wanted), (first) =>
      first._tag === "Reserved"
        ? Effect.succeed(first)
        : waitWithinDeadline(
            request.plan,
            queue.join(request.plan.caller.key.id, (line, place) => waitInLine(request, wanted, line, place))
          )
    )
  }

  return (request: MeteredRequest): Effect.Effect<ReserveOutcome, GatewayError> =>
    Effect.suspend(() =>
      Effect.flatMapEager(reserveBound(request), (bounded) =>
        bounded === null
          ? Effect.flatMapEager(request.plan.prompt.count(), () => reserveCount(request))
          : Effect.succeed(bounded)
      )
    )
}

/**
 * What a request asks for. `slice`: the output tokens it pays for, or null for all. `smallestNano`:
 * the least amount that is useful.
 */
interface Wanted {
  readonly estimate: Estimate
  readonly slice: number | null
  readonly amountNano: NanoUsd
  readonly smallestNano: number
}

/** What a request of a capped key reserves if the budget has room for it. */
export const neededNano = (plan: RequestPlan, markup: number): NanoUsd => wantedBy(plan, markup).amountNano

const wantedBy = (plan: RequestPlan, markup: number): Wanted => {
  const estimate = estimateOf(plan, markup)
  // The request has no candidate, but an exhausted budget is reported first.
  if (plan.ranked.length === 0) return { estimate, slice: null, amountNano: 1, smallestNano: 1 }
  const { outputTokens, promptNano, tokenNano } = estimate
  const slice = firstSlice(plan, estimate)
  const amountNano = slice === null ? estimate.amountNano : Math.ceil(promptNano + slice * tokenNano)
  const smallestNano = outputTokens === null ? amountNano : Math.min(amountNano, promptNano + tokenNano * plan.choices)
  return { estimate, slice, amountNano, smallestNano }
}
