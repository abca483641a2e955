/**
 * What commands write. Answers go to stdout, one JSON value with `--json`; all else goes to stderr. Text of others is cleaned of what a
 * terminal would obey.
 */
import { Effect, Stdio, Stream } from "effect"
import { Json } from "./Globals.ts"

/** Without control characters, but for tabs and line ends. */
export const cleaned = (text: string): string => text.replaceAll(/[^\P{Cc}\t\n]/gu, "")

/** On one line. */
export const oneLine = (text: string): string => cleaned(text).replaceAll(/\s+/g, " ")

/** Writes to stdout as it is. */
export const write = (text: string) => Stdio.Stdio.use((stdio) => Stream.run(Stream.make(text), stdio.stdout()))

/** Writes to stderr as it is. */
export const remark = (text: string) => Stdio.Stdio.use((stdio) => Stream.run(Stream.make(text), stdio.stderr()))

/** A command's whole answer: `value` with `--json`, else `text`. */
export const answer = (value: unknown, text: string) =>
  Effect.flatMap(Json, (isJson) => write(`${isJson ? JSON.stringify(value, null, 2) : text}\n`))
