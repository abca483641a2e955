/**
 * Replies without their reasoning, for clients that ask for that. The model reasons all the same,
 * and its reasoning is counted and billed.
 */
import { Predicate, Stream } from "effect"
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
export const eventsWithoutReasoning = (events: Stream.Stream<CompletionEvent>): Stream.Stream<CompletionEvent> =>
  events.pipe(
    Stream.map((event): CompletionEvent => {
      if (event._tag !== "Choices") return event
      return { ...event, choices: event.choices.map(shown).filter((choice) => choice !== null) }
    }),
    Stream.filter((event) => event._tag !== "Choices" || event.choices.length > 0)
  )

const shown = (choice: ChoiceDelta): ChoiceDelta | null => {
  const delta = without(choice.delta)
  const isSilent = delta !== choice.delta && Object.keys(delta).length === 0
  return isSilent && choice.finish_reason === null ? null : { ...choice, delta }
}
