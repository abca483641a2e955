/**
 * Finds the models of a client at the gateway: that they exist, that the key may use them, and that
 * they answer conversations.
 */
import { Effect, Option, Result } from "effect"
import type { TollgateError, TollgateShape } from "../../client/Client.ts"
import { CommandFailed } from "../Failure.ts"
import { type ChosenModel } from "./Clients.ts"

const LIMIT = "5 seconds"

type Entry = Effect.Success<ReturnType<TollgateShape["models"]["list"]>>["data"][number]

const isChat = ({ architecture }: Entry): boolean => architecture.output_modalities.includes("text")

const chosen = (name: string, { context_length, top_provider }: Entry): ChosenModel => ({
  id: name,
  contextLength: context_length,
  maxOutput: top_provider.max_completion_tokens
})

export interface Asked {
  readonly model: string | null
  readonly small: string | null
  /** The author whose models are taken first, such as `openai/`. */
  readonly prefers: string
}

export interface Found {
  readonly model: ChosenModel
  readonly small: ChosenModel
}

const named = Effect.fnUntraced(function* ({ models }: TollgateShape, name: string) {
  const entry = yield* models.retrieve({ params: { model: name } })
  if (!isChat(entry)) {
    return yield* new CommandFailed({ code: "refused", message: `'${name}' is an embedding model. Name a chat model.` })
  }
  return chosen(name, entry)
})

const first = Effect.fnUntraced(function* ({ models }: TollgateShape, prefers: string) {
  const { data } = yield* models.list()
  const usable = data.filter(isChat)
  const entry = usable.find(({ id }) => id.startsWith(prefers)) ?? usable[0]
  return entry === undefined
    ? yield* new CommandFailed({ code: "refused", message: "No chat model is allowed for this key." })
    : chosen(entry.id, entry)
})

/** Asks the gateway for both models. */
export const checkedModels = (client: TollgateShape, { model, prefers, small }: Asked) =>
  Effect.gen(function* () {
    const main = yield* model === null ? first(client, prefers) : named(client, model)
    return { model: main, small: small === null ? main : yield* named(client, small) } satisfies Found
  }).pipe(
    Effect.timeoutOption(LIMIT),
    Effect.flatMap((found) =>
      Option.isSome(found)
        ? Effect.succeed(found.value)
        : Effect.fail(
            new CommandFailed({ code: "unreachable", message: "The gateway did not answer within 5 seconds." })
          )
    )
  )

/** Without the gateway only named models can be used. */
export const uncheckedModels = ({ model, small }: Asked): Result.Result<Found, CommandFailed> => {
  if (model === null) {
    return Result.fail(
      new CommandFailed({
        code: "usage",
        message: "The model is not known, because no gateway could be asked.",
        remedy: "Name one with --model, or start the gateway and set a key."
      })
    )
  }
  const unknown = (id: string): ChosenModel => ({ id, contextLength: null, maxOutput: null })
  return Result.succeed({ model: unknown(model), small: unknown(small ?? model) })
}

/** Whether a failure says nothing about the models: the gateway or the key cannot tell. */
export const isNoAnswer = (error: TollgateError | CommandFailed): boolean =>
  error instanceof CommandFailed
    ? error.code === "unreachable"
    : error.status === null || error.body?.code === "scope_missing" || error.status >= 500
