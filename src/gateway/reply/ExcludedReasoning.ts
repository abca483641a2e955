/**
 * Replies without their reasoning, for clients that ask for that. The model reasons all the same,
 * and its reasoning is counted and billed.
 */
import { isReadonlyArrayNonEmpty } from "effect/Array"
import { Predicate } from "effect"
import { type Batches } from "../../domain/runtime/Batches.ts"
import { type ChatReply, type ChoiceDelta } from "../../domain/Chat.ts"
import { type CompletionEvent } from "../request/Answer.ts"

/**
 * `reasoning: {exclude: true}`, or `include_reasoning: false`, as OpenRouter's clients write it.
 */
export const excludesReasoning = (request: Readonly<Record<string, unknown>>): boolean => {
  const { include_reasoning: isIncluded, reasoning } = request
  return isIncluded === false || (Predicate.isObject(reasoning) && reasoning["exclude"] === true)
}

const members = ["reasoning", "reasoning_content", "reasoning_details"]

const without = <A extends object>(message: A): A => {
  if (!members.some((name) => name in message)) return message
  const rest = { ...message }
  for (const name of members) Reflect.deleteProperty(rest, name)
  return rest
}

export const withoutReasoning = (reply: ChatReply): ChatReply => ({
  ...reply,
  choices: reply.choices.map((choice) => ({ ...choice, message: without(choice.message) }))
})

/** Events with nothing but reasoning are left out. */
export const eventsWithoutReasoning = (events: Batches<CompletionEvent>): Batches<CompletionEvent> =>
  events.map((batch) => {
    const kept = batch.flatMap((event): ReadonlyArray<CompletionEvent> => {
      if (event._tag !== "Choices") return [event]
      const choices = event.choices.map(shown).filter((choice) => choice !== null)
      return choices.length === 0 ? [] : [{ ...event, choices }]
    })
    return isReadonlyArrayNonEmpty(kept) ? kept : null
  })

const shown = (choice: ChoiceDelta): ChoiceDelta | null => {
  const delta = without(choice.delta)
  const isSilent = delta !== choice.delta && Object.keys(delta).length === 0
  return isSilent && choice.finish_reason === null ? null : { ...choice, delta }
}
