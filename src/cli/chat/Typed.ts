/**
 * What a person types at a terminal: texts with line editing and history, pastes of several lines
 * as one text, and Ctrl-C as an event instead of the process's end.
 */
import { Effect, Queue, type Scope } from "effect"
import { createInterface } from "node:readline"

export type Event =
  | { readonly _tag: "Text"; readonly text: string }
  /** Ctrl-C. */
  | { readonly _tag: "Stop" }
  /** Ctrl-D, or the end of the input. */
  | { readonly _tag: "End" }

export interface Typed {
  readonly events: Queue.Dequeue<Event>
  /** Shows the prompt, before which nothing is typed. */
  readonly prompt: Effect.Effect<void>
}

/** Pastes are marked by terminals that are asked to. */
const MARK_PASTES = "\u001b[?2004h"
const MARK_NO_PASTES = "\u001b[?2004l"
const LONGEST_HISTORY = 1_000

/** A line that ends so goes on in the next one. */
const goesOn = /(?<!\\)\\$/

/** Reads from the streams until the scope closes. */
export const typedAt = (input: NodeJS.ReadableStream, output: NodeJS.WritableStream, prompt: string) =>
  Effect.acquireRelease(
    Effect.gen(function* () {
      const events = yield* Queue.unbounded<Event>()
      const lines = createInterface({ input, output, terminal: true, historySize: LONGEST_HISTORY, prompt })
      let isPasting = false
      let before: ReadonlyArray<string> = []
      output.write(MARK_PASTES)
      const onKey = (_: unknown, key: { readonly name?: string } | undefined) => {
        if (key?.name === "paste-start") isPasting = true
        if (key?.name === "paste-end") isPasting = false
      }
      input.on("keypress", onKey)
      lines.on("line", (line) => {
        if (isPasting || goesOn.test(line)) {
          before = [...before, isPasting ? line : line.slice(0, -1)]
          return
        }
        const text = [...before, line].join("\n")
        before = []
        Queue.offerUnsafe(events, { _tag: "Text", text })
      })
      lines.on("SIGINT", () => {
        const hadText = lines.line !== "" || before.length > 0
        before = []
        // Clears the line, as shells do.
        if (hadText) lines.write(null, { ctrl: true, name: "e" })
        if (hadText) lines.write(null, { ctrl: true, name: "u" })
        else Queue.offerUnsafe(events, { _tag: "Stop" })
      })
      lines.on("close", () => Queue.offerUnsafe(events, { _tag: "End" }))
      const close = () => {
        input.off("keypress", onKey)
        lines.removeAllListeners()
        lines.close()
        output.write(MARK_NO_PASTES)
      }
      return { events, prompt: Effect.sync(() => lines.prompt()), close }
    }),
    ({ close }) => Effect.sync(close)
  ) satisfies Effect.Effect<Typed, never, Scope.Scope>
