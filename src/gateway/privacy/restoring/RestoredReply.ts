/**
 * Restores the values in a whole reply: in its texts and in the arguments of its tool calls. Log
 * probabilities are left as the model returned them.
 */
import { Predicate } from "effect"
import { type ChatReply, type ReplyChoice } from "../../../domain/Chat.ts"
import { exceptReasoning } from "../KeptReasoning.ts"
import { restoredNative } from "./RestoredNative.ts"
import { restoreCall, restoreCalled, type Restorer, restoreMembers } from "./Restoring.ts"

const restoredChoice = (choice: ReplyChoice, restorer: Restorer): ReplyChoice => {
  const { content, function_call: called, refusal, reasoning, role, tool_calls: calls, ...rest } = choice.message
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
      ...(called === undefined
        ? {}
        : { function_call: Predicate.isObject(called) ? restoreCalled(called, restorer) : called }),
      ...(calls === undefined ? {} : { tool_calls: calls.map((call) => restoreCall(call, restorer)) })
    }
  }
}

export const restoredReply = (reply: ChatReply, restorer: Restorer, keepsReasoning = false): ChatReply => ({
  ...reply,
  ...(reply.native === undefined ? {} : { native: restoredNative(reply.native, restorer) }),
  ...(reply.extra === undefined ? {} : { extra: restoreMembers(reply.extra, restorer.text) }),
  choices: reply.choices.map((choice) =>
    keepsReasoning
      ? {
          ...choice,
          message: exceptReasoning(
            choice.message,
            (message) => restoredChoice({ ...choice, message }, restorer).message
          )
        }
      : restoredChoice(choice, restorer)
  )
})
