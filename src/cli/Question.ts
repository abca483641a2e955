/** A chat request on the command line: `chat` sends it, `route` previews it. */
import { Effect, Option, Stdio, Stream } from "effect"
import { Argument, Flag } from "effect/cli"
import { switchFlag } from "./Flags.ts"
import type { TollgateError, TollgateShape } from "../client/Client.ts"
import { chatPayload, type Wishes } from "./chat/Turns.ts"
import { nearest } from "../domain/Nearest.ts"
import { CommandFailed, Explained } from "./Failure.ts"
import { withProgress } from "./Progress.ts"

export const question = {
  words: Argument.variadic(Argument.String("prompt").pipe(Argument.withDescription("The prompt. Default: stdin"))),
  model: Flag.String("model").pipe(
    Flag.withAlias("m"),
    Flag.withMetavar("<id>"),
    Flag.withDescription("Default: the first chat model that the key may use"),
    Flag.optional
  ),
  system: Flag.String("system").pipe(Flag.withDescription("A system message before the prompt"), Flag.optional),
  maxTokens: Flag.Int("max-tokens").pipe(Flag.withDescription("Limit of the answer, in tokens"), Flag.optional),
  temperature: Flag.Finite("temperature").pipe(Flag.withDescription("0 to 2"), Flag.optional),
  sort: Flag.Literals("sort", ["price", "throughput", "latency"]).pipe(
    Flag.withDescription("Ranking of the providers"),
    Flag.optional
  ),
  order: Flag.String("provider").pipe(
    Flag.withMetavar("<slug>"),
    Flag.withDescription("A provider to try first. Repeatable"),
    Flag.atLeast(0)
  ),
  fallbacks: Flag.Boolean("fallbacks").pipe(
    Flag.withDescription("Try other providers after the first"),
    Flag.withDefault(true)
  ),
  deny: switchFlag("no-collection", "Only providers that neither train on prompts nor store them")
}

export interface Question {
  readonly words: ReadonlyArray<string>
  readonly model: Option.Option<string>
  readonly system: Option.Option<string>
  readonly maxTokens: Option.Option<number>
  readonly temperature: Option.Option<number>
  readonly sort: Option.Option<"price" | "throughput" | "latency">
  readonly order: ReadonlyArray<string>
  readonly fallbacks: boolean
  readonly deny: boolean
}

/** The prompt from the arguments, or from stdin unless it is a terminal. */
export const promptOf = Effect.fnUntraced(function* (words: ReadonlyArray<string>) {
  if (words.length > 0) return words.join(" ")
  const stdio = yield* Stdio.Stdio
  const text = (yield* stdio.stdinIsTerminal) ? "" : yield* Stream.mkString(Stream.decodeText(stdio.stdin))
  if (text.trim() !== "") return text
  return yield* new CommandFailed({
    code: "usage",
    message: "The prompt is empty.",
    remedy: "Write it after the command, or send it to stdin."
  })
})

export const firstModel = Effect.fnUntraced(function* ({ models }: TollgateShape) {
  const { data } = yield* models.list().pipe(withProgress("reading models"))
  const first = data.find(({ architecture }) => architecture.output_modalities.includes("text"))
  return first === undefined
    ? yield* new CommandFailed({ code: "refused", message: "No chat model is allowed for this key." })
    : first.id
})

/** What the flags ask for besides the messages. */
export const wishesOf = (
  { deny, fallbacks, maxTokens, order, sort, temperature }: Question,
  model: string
): Wishes => ({
  model,
  maxTokens: Option.getOrNull(maxTokens),
  temperature: Option.getOrNull(temperature),
  provider: {
    ...(Option.isSome(sort) ? { sort: sort.value } : {}),
    ...(order.length > 0 ? { order } : {}),
    ...(fallbacks ? {} : { allow_fallbacks: false }),
    ...(deny ? { data_collection: "deny" as const } : {})
  }
})

/** The body of a request with one prompt. */
export const payloadOf = Effect.fnUntraced(function* (given: Question, client: TollgateShape) {
  const text = yield* promptOf(given.words)
  const model = Option.isSome(given.model) ? given.model.value : yield* firstModel(client)
  return chatPayload(
    { system: Option.getOrNull(given.system), turns: [{ role: "user", text }] },
    wishesOf(given, model)
  )
})

/** The most models that a fault lists. */
const MOST_SHOWN = 5

/** The models whose ids have most of the pieces of `name`, best first. */
export const similarModels = (name: string, ids: ReadonlyArray<string>): ReadonlyArray<string> => {
  const pieces = name
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((piece) => piece !== "")
  const near = nearest(name, ids)
  const ranked = ids
    .map((id) => ({ id, shared: pieces.filter((piece) => id.toLowerCase().includes(piece)).length }))
    .filter(({ shared }) => shared > 0)
    .sort((a, b) => b.shared - a.shared)
    .map(({ id }) => id)
  return [...new Set(near === null ? ranked : [near, ...ranked])].slice(0, MOST_SHOWN)
}

/** Adds the names of similar models to the fault of a model that does not exist. */
export const withSimilarModels =
  (client: TollgateShape, model: string) =>
  (error: TollgateError): Effect.Effect<never, TollgateError | Explained> =>
    error.type !== "model_not_found"
      ? Effect.fail(error)
      : client.models.list().pipe(
          Effect.map(({ data }) =>
            similarModels(
              model,
              data.map(({ id }) => id)
            )
          ),
          Effect.orElseSucceed((): ReadonlyArray<string> => []),
          Effect.flatMap((similar) =>
            Effect.fail(
              new Explained({
                error,
                remedy:
                  similar.length === 0
                    ? "`tollgate models` lists the models that the key may use."
                    : `Similar models: ${similar.join(", ")}. \`tollgate models\` lists all.`
              })
            )
          )
        )
