/**
 * The conversation that `--save` keeps and `--continue` takes up: one file, which only its owner
 * can read. Nothing is written without either flag.
 */
import { Effect, FileSystem, Option, Path, Schema } from "effect"
import { CommandFailed } from "../Failure.ts"
import type { Thread } from "./Turns.ts"

const File = Schema.fromJsonString(
  Schema.Struct({
    model: Schema.String,
    system: Schema.NullOr(Schema.String),
    turns: Schema.Array(
      Schema.Struct({
        role: Schema.Literals(["user", "assistant"]),
        text: Schema.String,
        images: Schema.optionalKey(Schema.Array(Schema.Struct({ mediaType: Schema.String, base64: Schema.String })))
      })
    )
  })
)

export interface Kept extends Thread {
  readonly model: string
}

const NAME = "conversation.json"

/** `directory`: the command line's own, below the user's settings. */
export const keep = Effect.fnUntraced(
  function* (directory: string, kept: Kept) {
    const files = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    yield* files.makeDirectory(directory, { recursive: true, mode: 0o700 })
    const file = path.join(directory, NAME)
    const temporary = `${file}.new`
    // A file that exists keeps its mode when it is written, so each is a new one.
    yield* Effect.ignore(files.remove(temporary))
    yield* files.writeFileString(temporary, JSON.stringify(kept), { mode: 0o600 })
    yield* files.rename(temporary, file)
  },
  Effect.mapError(
    (error) => new CommandFailed({ code: "refused", message: `The conversation could not be saved: ${error.message}` })
  )
)

/** Fails if there is none. */
export const takenUp = Effect.fnUntraced(function* (directory: string) {
  const files = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const file = path.join(directory, NAME)
  const text = yield* Effect.option(files.readFileString(file))
  if (Option.isNone(text)) {
    return yield* new CommandFailed({
      code: "usage",
      message: "There is no saved conversation.",
      remedy: "`tollgate chat --save` saves one."
    })
  }
  return yield* Effect.mapError(
    Schema.decodeEffect(File)(text.value),
    () => new CommandFailed({ code: "refused", message: `${file} is not a conversation of this version.` })
  )
})
