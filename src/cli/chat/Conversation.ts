/**
 * A conversation at a terminal: each text is answered with all that was said before. Ctrl-C stops
 * an answer, whose text so far is kept; at the prompt it leaves when it comes twice. Lines that
 * begin with `/` are commands.
 */
import { Effect, Queue, Result } from "effect"
import { nearest } from "../../domain/Nearest.ts"
import { type Event, type Typed } from "./Typed.ts"
import type { Image, Thread } from "./Turns.ts"

export interface State extends Thread {
  readonly model: string
  /** Of the next text. */
  readonly images: ReadonlyArray<Image>
}

export interface Host<R> {
  readonly typed: Typed
  /** Shows an answer as it comes. Never fails: it says why. Null: there is none to keep. */
  readonly answered: (state: State) => Effect.Effect<string | null, never, R>
  /** The text that was shown of the answer that was stopped. */
  readonly shownSoFar: Effect.Effect<string>
  readonly say: (text: string) => Effect.Effect<void, never, R>
  readonly imageOf: (file: string) => Effect.Effect<Image, { readonly message: string }, R>
  /** The id, if the key may use such a model, or what to say. */
  readonly modelOf: (name: string) => Effect.Effect<Result.Result<string, string>, never, R>
  readonly models: Effect.Effect<ReadonlyArray<string>, never, R>
  /** Called after each answer. */
  readonly keep: (state: State) => Effect.Effect<void, never, R>
}

const help = [
  "/model [NAME]   the model, or another one; /models lists them",
  "/system [TEXT]  the instructions, or other ones; /system - removes them",
  "/image FILE     sends an image with the next text",
  "/clear          forgets what was said",
  "/help           this text",
  "/exit           leaves, like Ctrl-D",
  "A line that ends with \\ goes on in the next one. Pasted lines stay together. Ctrl-C stops an answer."
].join("\n")

const commands = ["model", "models", "system", "image", "clear", "help", "exit"]

type Step = State | "leave"

/** Runs until the person leaves. */
export const conversation = Effect.fnUntraced(function* <R>(host: Host<R>, first: State) {
  const { say, typed } = host

  const commanded = Effect.fnUntraced(function* (state: State, line: string) {
    const [name = "", ...words] = line.slice(1).trim().split(/\s+/)
    const rest = words.join(" ")
    switch (name) {
      case "exit":
      case "quit":
        return "leave" as const
      case "clear":
        yield* say("Forgotten.")
        return { ...state, turns: [], images: [] }
      case "models":
        yield* say((yield* host.models).join("\n"))
        return state
      case "model": {
        if (rest === "") {
          yield* say(state.model)
          return state
        }
        const model = yield* host.modelOf(rest)
        yield* say(Result.isSuccess(model) ? `The model is ${model.success}.` : model.failure)
        return Result.isSuccess(model) ? { ...state, model: model.success } : state
      }
      case "system":
        yield* say(rest === "" ? (state.system ?? "There are no instructions.") : "The instructions are changed.")
        return rest === "" ? state : { ...state, system: rest === "-" ? null : rest }
      case "image": {
        const image = yield* Effect.result(host.imageOf(rest))
        yield* say(Result.isSuccess(image) ? "It goes with the next text." : image.failure.message)
        return Result.isSuccess(image) ? { ...state, images: [...state.images, image.success] } : state
      }
      case "help":
        yield* say(help)
        return state
      default: {
        const near = nearest(name, commands)
        yield* say(`There is no /${name}. ${near === null ? "See /help." : `Did you mean /${near}?`}`)
        return state
      }
    }
  })

  const answered = Effect.fnUntraced(function* (state: State, text: string) {
    const user = { role: "user" as const, text, ...(state.images.length === 0 ? {} : { images: state.images }) }
    const asking = { ...state, turns: [...state.turns, user], images: [] }
    const stopped = Effect.gen(function* () {
      for (;;) {
        const event = yield* Queue.take(typed.events)
        if (event._tag === "Stop") return
        // The rest waits for its turn.
        waiting.push(event)
      }
    })
    const answer = yield* Effect.raceFirst(
      Effect.map(host.answered(asking), (text) => ({ text, isStopped: false })),
      Effect.as(stopped, { text: null, isStopped: true })
    )
    if (answer.isStopped) yield* say("Stopped.")
    const told = answer.isStopped ? yield* host.shownSoFar : (answer.text ?? "")
    // Without an answer the question is not part of the conversation either.
    const next =
      told === "" ? state : { ...asking, turns: [...asking.turns, { role: "assistant" as const, text: told }] }
    if (told !== "") yield* host.keep(next)
    return next
  })

  const waiting: Array<Event> = []
  let state: State = first
  let isLeaving = false
  for (;;) {
    yield* typed.prompt
    const event = waiting.shift() ?? (yield* Queue.take(typed.events))
    // The prompt's line ends here, not in the shell.
    if (event._tag === "End") return yield* say("")
    if (event._tag === "Stop") {
      if (isLeaving) return yield* say("")
      isLeaving = true
      yield* say("Ctrl-C again leaves.")
      continue
    }
    isLeaving = false
    const text = event.text.trim()
    if (text === "") continue
    const next: Step = yield* text.startsWith("/") ? commanded(state, text) : answered(state, event.text)
    if (next === "leave") return
    state = next
  }
})
