/**
 * How output looks: colours where a terminal reads it, and tables that fit its width. Without a
 * terminal text is plain and of any width. `NO_COLOR`, `FORCE_COLOR`, `TERM=dumb`, `--color` and
 * `--no-color` decide otherwise.
 */
import { Context, Effect, Layer, Stdio, Terminal } from "effect"
import { TerminalCapabilities } from "effect/cli"
import { styleText } from "node:util"

export type Style = "bold" | "dim" | "italic" | "underline" | "red" | "green" | "yellow" | "cyan" | "magenta"

export type Paint = (style: Style | ReadonlyArray<Style>, text: string) => string

export interface LookShape {
  readonly paint: Paint
  /** Of stderr, which may be a terminal while stdout is none. */
  readonly paintError: Paint
  /** The columns of the terminal on stdout, or null. */
  readonly width: number | null
}

const plain: Paint = (_, text) => text
const coloured: Paint = (style, text) =>
  text === "" ? "" : styleText(typeof style === "string" ? style : [...style], text, { validateStream: false })

export const Look: Context.Reference<LookShape> = Context.Reference<LookShape>("tollgate/cli/Look", {
  defaultValue: () => ({ paint: plain, paintError: plain, width: null })
})

/** `wanted`: by `--color` or `--no-color`; null without either. */
const paintOf = Effect.fnUntraced(function* (wanted: boolean | null, isTerminal: Effect.Effect<boolean>) {
  if (wanted !== null) return wanted ? coloured : plain
  const stdio = yield* Stdio.Stdio
  const layer = Layer.provide(
    TerminalCapabilities.layer,
    Layer.succeed(Stdio.Stdio, { ...stdio, stdoutIsTerminal: isTerminal })
  )
  const context = yield* Effect.scoped(Layer.build(layer))
  return Context.get(context, TerminalCapabilities.TerminalCapabilities).canColor ? coloured : plain
})

/** Looks at this process's output. */
export const lookOf = Effect.fnUntraced(function* (wanted: boolean | null) {
  const stdio = yield* Stdio.Stdio
  const terminal = yield* Terminal.Terminal
  const columns = (yield* stdio.stdoutIsTerminal) ? yield* terminal.columns : 0
  return {
    paint: yield* paintOf(wanted, stdio.stdoutIsTerminal),
    paintError: yield* paintOf(wanted, stdio.stderrIsTerminal),
    width: columns > 0 ? columns : null
  } satisfies LookShape
})
