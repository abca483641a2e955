/**
 * `tollgate chat`: one answer to a prompt, or a conversation at a terminal. The text goes to stdout
 * as it arrives, what it was and cost to stderr. With `--json` each event is a line. A broken
 * stream fails after the text received.
 */
import { Cause, Effect, Option, Path, Result, Stdio } from "effect"
import { Command, Flag } from "effect/cli"
import { switchFlag } from "../Flags.ts"
import { clientDirectories } from "../../settings/CommandLine.ts"
import { connect } from "../Connection.ts"
import { errorText } from "../Failure.ts"
import { Json } from "../Globals.ts"
import { Look } from "../Look.ts"
import { write, writeError } from "../Output.ts"
import { firstModel, promptOf, question, similarModels, wishesOf } from "../Question.ts"
import { conversation, type State } from "./Conversation.ts"
import { imageOf } from "./ImageFile.ts"
import { keep, takenUp } from "./Kept.ts"
import { markdown, plainText } from "./Markdown.ts"
import { shown } from "./Shown.ts"
import { typedAt } from "./Typed.ts"

const flags = {
  ...question,
  api: Flag.Literals("api", ["chat", "messages", "responses"]).pipe(
    Flag.withDescription("The API that is asked: chat completions, Anthropic's Messages, OpenAI's Responses"),
    Flag.withDefault("chat" as const)
  ),
  image: Flag.String("image").pipe(
    Flag.withMetavar("<file>"),
    Flag.withDescription("An image to send: PNG, JPEG, GIF or WebP. Repeatable"),
    Flag.atLeast(0)
  ),
  save: switchFlag("save", "Keep the conversation in a file that only you can read"),
  continued: switchFlag("continue", "Take up the conversation that --save kept, and keep it again").pipe(
    Flag.withAlias("c")
  )
}

export const chat = Command.make(
  "chat",
  flags,
  Effect.fnUntraced(function* ({ api, continued, image, save, ...given }) {
    const stdio = yield* Stdio.Stdio
    const isJson = yield* Json
    const look = yield* Look
    const isTerminal = yield* stdio.stdoutIsTerminal
    const isConversation = given.words.length === 0 && !isJson && isTerminal && (yield* stdio.stdinIsTerminal)
    const directory = (yield* Path.Path).join((yield* clientDirectories).config, "tollgate")
    const kept = continued ? yield* takenUp(directory) : null
    const text = isConversation ? "" : yield* promptOf(given.words)
    const images = yield* Effect.forEach(image, imageOf)
    const client = yield* connect("apiKey")
    const models = Effect.map(client.models.list(), ({ data }) => data.map(({ id }) => id))
    const first: State = {
      model: Option.isSome(given.model) ? given.model.value : (kept?.model ?? (yield* firstModel(client))),
      system: Option.isSome(given.system) ? given.system.value : (kept?.system ?? null),
      turns: kept?.turns ?? [],
      images
    }
    const saved = (state: State) =>
      save || continued
        ? keep(directory, { model: state.model, system: state.system, turns: state.turns })
        : Effect.void
    let soFar = ""
    const show = (state: State) =>
      Effect.suspend(() => {
        soFar = ""
        return shown(client, {
          api,
          thread: state,
          wishes: wishesOf(given, state.model),
          isJson,
          renderer: isTerminal ? markdown(look.paint) : plainText,
          onText: (text) => void (soFar += text)
        })
      })
    if (!isConversation) {
      const user = { role: "user" as const, text, ...(images.length === 0 ? {} : { images }) }
      const asking = { ...first, turns: [...first.turns, user] }
      yield* show(asking)
      return yield* saved({ ...asking, turns: [...asking.turns, { role: "assistant", text: soFar }] })
    }
    const failed = <E>(cause: Cause.Cause<E>) => {
      const text = errorText(cause, false, look.paintError)
      return Effect.ignore(writeError(text === null ? "" : `${text}\n`))
    }
    const typed = yield* typedAt(process.stdin, process.stdout, `${look.paint("green", ">")} `)
    yield* write(`${look.paint("dim", `${first.model}. /help lists commands; Ctrl-D leaves.`)}\n`)
    return yield* conversation(
      {
        typed,
        answered: (state) =>
          show(state).pipe(
            Effect.map(() => soFar),
            Effect.catchCause((cause) =>
              Cause.hasInterruptsOnly(cause) ? Effect.interrupt : Effect.as(failed(cause), null)
            )
          ),
        shownSoFar: Effect.sync(() => soFar),
        say: (text) => Effect.ignore(write(`${look.paint("dim", text)}\n`)),
        imageOf,
        models: Effect.orElseSucceed(models, () => []),
        modelOf: (name) =>
          models.pipe(
            Effect.map((ids) => {
              const similar = similarModels(name, ids)
              if (ids.includes(name)) return Result.succeed(name)
              return Result.fail(
                `There is no model "${name}".${similar.length === 0 ? "" : ` Similar: ${similar.join(", ")}.`}`
              )
            }),
            // A name that cannot be checked is tried.
            Effect.orElseSucceed(() => Result.succeed(name))
          ),
        keep: (state) => Effect.catchCause(saved(state), failed)
      },
      first
    )
  }, Effect.scoped)
).pipe(
  Command.withDescription("Send a prompt and stream its answer; without a prompt, at a terminal, a conversation"),
  Command.withExamples([
    { command: "tollgate chat", description: "A conversation" },
    { command: "tollgate chat --model mock/echo 'Hello, tollgate'" },
    { command: "tollgate chat --image chart.png 'What does it show?'" },
    { command: "tollgate chat --continue 'And then?'", description: "After tollgate chat --save" },
    { command: "tollgate chat --api responses 'Hello'", description: "By OpenAI's Responses API" },
    { command: "tollgate chat --max-tokens 200 < question.txt", description: "The prompt from a file" }
  ])
)
