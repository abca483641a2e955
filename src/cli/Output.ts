/**
 * Output of commands. Results go to stdout, as one JSON value with `--json`. Everything else goes
 * to stderr. Text from others is stripped of control characters, which a terminal would obey.
 */
import { Effect, Stdio, Stream } from "effect"
import { Json } from "./Globals.ts"
import { Look } from "./Look.ts"
import type { Page } from "./Table.ts"

/** Without control characters other than tabs and line feeds. */
export const withoutControls = (text: string): string => text.replaceAll(/[^\P{Cc}\t\n]/gu, "")

/** On one line. */
export const oneLine = (text: string): string => withoutControls(text.replaceAll(/\s+/g, " "))

/** Writes to stdout unchanged. */
export const write = (text: string) => Stdio.Stdio.use((stdio) => Stream.run(Stream.make(text), stdio.stdout()))

/** Writes to stderr unchanged. */
export const writeError = (text: string) => Stdio.Stdio.use((stdio) => Stream.run(Stream.make(text), stdio.stderr()))

/** Writes a command's whole result: `value` with `--json`, otherwise `text`. */
export const answer = Effect.fnUntraced(function* (value: unknown, text: string | Page) {
  if (yield* Json) return yield* write(`${JSON.stringify(value, null, 2)}\n`)
  yield* write(`${typeof text === "string" ? text : text(yield* Look)}\n`)
})
