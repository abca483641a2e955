/**
 * What each attempt of a generation used and cost, without the markup. The attempts add up to the
 * generation, except for an estimate after a crash, which knows no attempts.
 */
import { type Attempt, type Generation } from "../Generation.ts"
import { type NanoUsd } from "./Money.ts"

export interface AttemptCost {
  readonly promptTokens: number
  readonly completionTokens: number
  readonly totalNano: NanoUsd
}

const nothing: AttemptCost = { promptTokens: 0, completionTokens: 0, totalNano: 0 }

type Billed = Pick<Generation, "attempts" | "cacheHit" | "cost" | "model" | "provider" | "usage">

/** One for each attempt, in their order. */
export const attemptCosts = (generation: Billed): ReadonlyArray<AttemptCost> => {
  const { attempts, cacheHit, cost, usage } = generation
  const charged = attempts.map(({ charge }): AttemptCost =>
    charge === undefined ? nothing : { ...charge.usage, totalNano: charge.totalNano }
  )
  const last = cacheHit ? -1 : lastCharged(generation)
  const others = charged.reduce(plus, nothing)
  return charged.map(({ completionTokens, promptTokens, totalNano }, at) =>
    at === last
      ? {
          promptTokens: usage.promptTokens - others.promptTokens,
          completionTokens: usage.completionTokens - others.completionTokens,
          totalNano: cost.totalNano - others.totalNano
        }
      : { promptTokens, completionTokens, totalNano }
  )
}

/**
 * The attempt that the rest of the bill is for: the one that answered, or else the last one of the
 * generation's provider and model. An attempt with a charge of its own is paid already.
 */
const lastCharged = ({ attempts, model, provider }: Billed): number => {
  const isOwn = (one: Attempt) => one.charge === undefined && one.provider === provider && one.model === model
  const answered = attempts.findLastIndex((one) => isOwn(one) && one.status === "ok")
  return answered >= 0 ? answered : attempts.findLastIndex((one) => isOwn(one) && one.status !== "skipped")
}

const plus = (a: AttemptCost, b: AttemptCost): AttemptCost => ({
  promptTokens: a.promptTokens + b.promptTokens,
  completionTokens: a.completionTokens + b.completionTokens,
  totalNano: a.totalNano + b.totalNano
})
