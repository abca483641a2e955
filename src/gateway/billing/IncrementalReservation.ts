/**
 * Reserves budget for a long answer in slices. A request of a capped key whose output is visible
 * holds a slice of its worst case and adds to it while tokens arrive. Other requests are thus not
 * refused because of worst cases that rarely happen. When the cap has no room for more, the answer
 * is cut before a token that is not reserved: spent + reserved stays below the cap at every moment.
 * An answer that holds its worst case is cut too, if the provider exceeds its limit.
 */
import { Effect } from "effect"
import { type Batches } from "../../domain/runtime/Batches.ts"
import { type Candidate } from "../../domain/Catalog.ts"
import { type ChatEvent } from "../../domain/Chat.ts"
import { BudgetExceeded, DependencyUnavailable, gatewayError, type GatewayError } from "../../domain/Errors.ts"
import { monthEndMs, type NanoUsd } from "../../domain/pricing/Money.ts"
import { nativeFor } from "../../domain/Native.ts"
import { type Balance, type Ledger, type ReserveResult } from "../../store/ledger/Ledger.ts"
import { type StoreError } from "../../store/StoreError.ts"
import { type Estimate, estimateOf, promptCost } from "./Estimate.ts"
import { type OutputBudget } from "../request/OutputBudget.ts"
import { hasVisibleOutput } from "../request/Reasoning.ts"
import { type RequestPlan } from "../request/RequestPlan.ts"
import { type MeteredRequest } from "./Reservation.ts"
import { type PromptTokens } from "../../domain/PromptTokens.ts"
import { OutputCounter } from "../tokens/Tokens.ts"

/** The size of a slice, in output tokens a choice. */
const SLICE_TOKENS = 1_024
/** Another slice is reserved when this many reserved tokens or fewer are left. */
const LOW_TOKENS = 256
/** How far an answer may exceed the worst case by the gateway's count. Tokenizers differ. */
const TOLERATED_PART = 0.25
const TOLERATED_TOKENS = 64

/** Output tokens to hold at first, of all choices together; null for the whole worst case. */
export const firstSlice = (plan: RequestPlan, { outputTokens, tokenNano }: Estimate): number | null =>
  outputTokens === null ||
  outputTokens <= SLICE_TOKENS ||
  tokenNano === 0 ||
  !hasVisibleOutput(plan) ||
  isWholeNative(plan)
    ? null
    : SLICE_TOKENS * plan.choices

/**
 * A whole reply in the form of its own API is not watched: its events could not be put together.
 */
const isWholeNative = (plan: RequestPlan): boolean =>
  !plan.streamed && plan.ranked.some((candidate) => nativeFor(plan, candidate) !== undefined)

/** The cost of the prompt and one slice of output, at most the worst case. */
export const likelyNano = (plan: RequestPlan, { amountNano, promptNano, tokenNano }: Estimate): NanoUsd =>
  Math.min(amountNano, Math.ceil(promptNano + SLICE_TOKENS * plan.choices * tokenNano))

/** Adds to the request's reservation in the ledger. */
export type Extend = (amountNano: NanoUsd) => Effect.Effect<ReserveResult, StoreError>

/** Reserves the prompt of another call. False: not reserved. */
export const holdPrompt = (
  { reservation }: MeteredRequest,
  prompt: PromptTokens,
  costOf: (tokens: number) => NanoUsd,
  extend: Extend
): Effect.Effect<boolean> =>
  Effect.flatMap(prompt.count(), (tokens) =>
    Effect.match(extend(costOf(tokens)), {
      onFailure: () => false,
      onSuccess: ({ _tag }) => {
        if (_tag === "Refused") return false
        reservation.extend(costOf(tokens))
        return true
      }
    })
  )

/** The rest of the cap, in nano-USD. */
export const remainingNano = (plan: RequestPlan, { reservedNano, spentNano }: Balance): NanoUsd =>
  (plan.caller.key.monthlyBudgetNano ?? 0) - spentNano - reservedNano

export const budgetExceeded = (plan: RequestPlan, balance: Balance, neededNano: NanoUsd): GatewayError =>
  gatewayError(
    new BudgetExceeded({
      capNano: plan.caller.key.monthlyBudgetNano ?? 0,
      spentNano: balance.spentNano,
      reservedNano: balance.reservedNano,
      neededNano,
      resetsAtMs: monthEndMs(plan.startedAtMs)
    })
  )

/**
 * Passes on the events whose tokens are reserved. Fails with `BudgetExceeded` when the budget ends,
 * and with `DependencyUnavailable` if the ledger cannot be asked.
 */
export const reserveWhileStreaming =
  ({ plan, reservation }: MeteredRequest, tokenNano: number, extend: Extend) =>
  <E>(events: Batches<ChatEvent, E>): Batches<ChatEvent, E | GatewayError> => {
    const output = new OutputCounter()
    const { isSliced } = reservation.held
    const heldTokens = () => reservation.held.tokens ?? 0
    const lowTokens = isSliced ? LOW_TOKENS : 0
    let tolerated = isSliced ? 0 : Math.ceil(heldTokens() * TOLERATED_PART) + TOLERATED_TOKENS
    let isRefused = false

    const paidTokens = () => heldTokens() + tolerated

    const hold = (tokens: number): Effect.Effect<ReserveResult, StoreError> => {
      const amountNano = Math.ceil(tokens * tokenNano)
      return Effect.tap(extend(amountNano), (result) =>
        Effect.sync(() => {
          if (result._tag === "Refused") return
          reservation.extend(amountNano, tokens)
          tolerated = 0
        })
      )
    }

    /** Reserves another slice, or the rest of the budget. */
    const holdMore = Effect.fnUntraced(function* (missing: number) {
      const whole = yield* hold(Math.max(SLICE_TOKENS * plan.choices, missing + LOW_TOKENS))
      if (whole._tag === "Reserved") return whole
      const tokens = Math.floor(remainingNano(plan, whole.balance) / tokenNano)
      return tokens < 1 ? whole : yield* hold(tokens)
    })

    const pay = Effect.fnUntraced(function* () {
      const needed = output.count()
      const paid = paidTokens()
      if (needed + lowTokens <= paid) return
      // After a refusal, the ledger is asked again only where the answer would be cut.
      if (isRefused && needed <= paid) return
      const result = yield* Effect.result(holdMore(needed - heldTokens()))
      isRefused = result._tag === "Failure" || result.success._tag === "Refused"
      if (needed <= paidTokens()) return
      reservation.clamp()
      return yield* result._tag === "Failure"
        ? gatewayError(new DependencyUnavailable({ dependency: result.failure.dependency }))
        : budgetExceeded(
            plan,
            result.success._tag === "Refused" ? result.success.balance : { spentNano: 0, reservedNano: 0 },
            Math.ceil((needed - heldTokens()) * tokenNano)
          )
    })

    return events.map((chunk) => {
      for (const event of chunk) if (event._tag === "Choices") output.add(event.choices)
      return output.bound() + lowTokens <= paidTokens() ? chunk : Effect.as(pay(), chunk)
    })
  }

/** The limits that the reservation sets on the calls of a request. */
export const makeOutputBudget =
  (ledger: Ledger["Service"], markup: number) =>
  (request: MeteredRequest): OutputBudget => {
    const { plan, reservation } = request
    const { affordableTokens, isSliced, tokens } = reservation.held
    const capNano = plan.caller.key.monthlyBudgetNano
    const extend = (amountNano: NanoUsd) => ledger.extend(plan.generationId, amountNano, capNano)
    const priceOfPrompt = (candidate: Candidate) => (tokens: number) => promptCost(plan, candidate, tokens, markup)
    return {
      affordableTokens,
      isSliced,
      watch: (events) =>
        tokens === null ? events : reserveWhileStreaming(request, estimateOf(plan, markup).tokenNano, extend)(events),
      hold: (candidate, prompt) =>
        capNano === null ? Effect.succeed(true) : holdPrompt(request, prompt, priceOfPrompt(candidate), extend)
    }
  }
