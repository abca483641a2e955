/** A line on a terminal for what takes longer than a second: what it is and since when. Gone when it is done; files never see it. */
import { Effect, type Scope, Stdio } from "effect"
import { remark } from "./Output.ts"

const CLEAR = "\r\u001b[K"

export interface Progress {
  /** Takes the line away before the scope does. */
  readonly done: Effect.Effect<void>
}

/** Shows the line after a second, anew each second, until the scope closes. It costs nothing where stderr is not a terminal. */
export const progress = Effect.fnUntraced(function* (
  what: string
): Effect.fn.Return<Progress, never, Scope.Scope | Stdio.Stdio> {
  const stdio = yield* Stdio.Stdio
  if (!(yield* stdio.stderrIsTerminal)) return { done: Effect.void }
  let seconds = 0
  let isOver = false
  const say = (text: string) => Effect.provideService(Effect.ignore(remark(text)), Stdio.Stdio, stdio)
  const tick = Effect.sleep("1 second").pipe(
    Effect.andThen(Effect.suspend(() => (isOver ? Effect.void : say(`${CLEAR}${what} ... ${++seconds} s`))))
  )
  const done = Effect.suspend(() => {
    const wasShown = !isOver && seconds > 0
    isOver = true
    return wasShown ? say(CLEAR) : Effect.void
  })
  yield* Effect.forkScoped(Effect.forever(tick))
  yield* Effect.addFinalizer(() => done)
  return { done }
})

/** With the line while it runs. */
export const withProgress =
  (what: string) =>
  <A, E, R>(self: Effect.Effect<A, E, R>) =>
    Effect.scoped(Effect.andThen(progress(what), self))
