/**
 * A progress line on a terminal for tasks longer than a second: what runs, and for how long. It is
 * removed at the end and never written to files.
 */
import { Effect, type Scope, Stdio } from "effect"
import { writeError } from "./Output.ts"

const CLEAR = "\r\u001b[K"

export interface Progress {
  /** Removes the line before the scope closes. */
  readonly done: Effect.Effect<void>
}

/**
 * Shows the line after a second and updates it each second, until the scope closes. Does nothing if
 * stderr is not a terminal.
 */
export const progress = Effect.fnUntraced(function* (
  what: string
): Effect.fn.Return<Progress, never, Scope.Scope | Stdio.Stdio> {
  const stdio = yield* Stdio.Stdio
  if (!(yield* stdio.stderrIsTerminal)) return { done: Effect.void }
  let seconds = 0
  let isOver = false
  const show = (text: string) => Effect.provideService(Effect.ignore(writeError(text)), Stdio.Stdio, stdio)
  const tick = Effect.sleep("1 second").pipe(
    Effect.andThen(Effect.suspend(() => (isOver ? Effect.void : show(`${CLEAR}${what} ... ${++seconds} s`))))
  )
  const done = Effect.suspend(() => {
    const wasShown = !isOver && seconds > 0
    isOver = true
    return wasShown ? show(CLEAR) : Effect.void
  })
  yield* Effect.forkScoped(Effect.forever(tick))
  yield* Effect.addFinalizer(() => done)
  return { done }
})

/** Shows the progress line while an effect runs. */
export const withProgress =
  (what: string) =>
  <A, E, R>(self: Effect.Effect<A, E, R>) =>
    Effect.scoped(Effect.andThen(progress(what), self))
