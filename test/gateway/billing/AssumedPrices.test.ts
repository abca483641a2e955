/** Prices that were assumed are told to the operator, once a class. */
import { assert, it } from "@effect/vitest"
import { Effect, Logger } from "effect"
import { makeAssumedPriceWarning } from "../../../src/gateway/billing/AssumedPrices.ts"
import { zeroCost } from "../../../src/domain/pricing/Money.ts"
import { makeGeneration } from "../../store/ledger/makeGeneration.ts"

const line = (name: "prompt" | "prompt_audio" | "web_search", assumed: boolean) => ({
  class: name,
  quantity: 1,
  price: 1_000,
  nano: 1,
  ...(assumed ? { assumed: true as const } : {})
})
const charged = (...lines: ReadonlyArray<ReturnType<typeof line>>) =>
  makeGeneration({ id: "gen_1", cost: { ...zeroCost, lines } }, 0)

it.effect("each class of a model once, and none that has a price", () => {
  const messages: Array<unknown> = []
  const warn = makeAssumedPriceWarning()
  return Effect.gen(function* () {
    yield* warn(charged(line("prompt", false)))
    assert.lengthOf(messages, 0)
    yield* warn(charged(line("prompt", false), line("prompt_audio", true)))
    yield* warn(charged(line("prompt_audio", true)))
    assert.lengthOf(messages, 1)
    yield* warn(charged(line("prompt_audio", true), line("web_search", true)))
    yield* warn({ ...charged(line("prompt_audio", true)), model: "mock/other" })
    assert.lengthOf(messages, 3)
  }).pipe(Effect.provide(Logger.layer([Logger.make(({ message }) => void messages.push(message))])))
})
