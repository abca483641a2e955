/** A whole reply with the values back in: its texts, and the arguments of its tool calls. Log probabilities stay as the model had them. */
import { Predicate } from "effect"
import { type ChatReply, type ReplyChoice } from "../../domain/Chat.ts"
import { type Restorer, restoreMembers } from "./Restoring.ts"

type Members = Readonly<Record<string, unknown>>

const restoredCall = (call: Members, { json, text }: Restorer): Members => {
  const called = call["function"]
  const given: unknown = Predicate.isObject(called) ? called["arguments"] : undefined
  if (!Predicate.isObject(called) || typeof given !== "string") return restoreMembers(call, text)
  return { ...call, function: { ...called, arguments: json(given) } }
}

const restoredChoice = (choice: ReplyChoice, restorer: Restorer): ReplyChoice => {
  const { content, refusal, reasoning, role, tool_calls: calls, ...rest } = choice.message
  const back = <A extends string | null | undefined>(value: A) =>
    typeof value === "string" ? restorer.text(value) : value
  return {
    ...choice,
    message: {
      ...restoreMembers(rest, restorer.text),
      role,
      content: typeof content === "string" ? restorer.text(content) : content,
      ...(refusal === undefined ? {} : { refusal: back(refusal) }),
      ...(reasoning === undefined ? {} : { reasoning: back(reasoning) }),
      ...(calls === undefined ? {} : { tool_calls: calls.map((call) => restoredCall(call, restorer)) })
    }
  }
}

export const restoredReply = (reply: ChatReply, restorer: Restorer): ChatReply => ({
  ...reply,
  choices: reply.choices.map((choice) => restoredChoice(choice, restorer))
})
