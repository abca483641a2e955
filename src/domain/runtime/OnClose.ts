/**
 * Cheap finalizers for the scope of a request. `Effect.addFinalizer` and `Effect.acquireRelease`
 * give each finalizer all services of its context, which copies them once per finalizer, and
 * `Scope.addFinalizer` takes two steps of the runtime. These finalizers get no services, and are
 * added at once.
 */
import { Context, Effect, Exit, Scope } from "effect"

type Finalizer = (exit: Exit.Exit<unknown, unknown>) => Effect.Effect<void>

/**
 * Adds the finalizer when it is called, not when the result runs. The result is an `Exit`, unless
 * the scope is closed: then it is the finalizer's effect, and the caller must run it. A finalizer
 * that works at once and returns an `Exit` takes no step of the runtime.
 */
export const addFinalizer = (scope: Scope.Scope, finalizer: Finalizer): Effect.Effect<void> => {
  const { state } = scope
  switch (state._tag) {
    case "Closed":
      return finalizer(state.exit)
    case "Empty": {
      const own = new Finalizers(finalizer)
      scope.state = { _tag: "Open", finalizerKey: own, finalizer: (exit) => own.run(exit), finalizers: undefined }
      return Effect.void
    }
    case "Open":
      if (state.finalizerKey instanceof Finalizers) {
        state.finalizerKey.add(finalizer)
        return Effect.void
      }
      if (state.finalizers === undefined) {
        state.finalizers = new Map()
        if (state.finalizerKey !== undefined && state.finalizer !== undefined) {
          state.finalizers.set(state.finalizerKey, state.finalizer)
        }
        state.finalizerKey = undefined
        state.finalizer = undefined
      }
      state.finalizers.set({}, finalizer)
      return Effect.void
  }
}

/**
 * Finalizers that were added one after another. A scope holds them as one, in an array, not a map.
 */
class Finalizers {
  readonly #all: Array<Finalizer>

  constructor(first: Finalizer) {
    this.#all = [first]
  }

  add(finalizer: Finalizer): void {
    this.#all.push(finalizer)
  }

  /** Runs them, last in, first out: the others too if one fails or throws. */
  run(exit: Exit.Exit<unknown, unknown>): Effect.Effect<void> {
    return Effect.onExitPrimitive(
      Effect.suspend(() => this.#next(exit)),
      () => (this.#all.length === 0 ? undefined : this.run(exit))
    )
  }

  /** Runs finalizers until one has to be waited for, or fails. */
  #next(exit: Exit.Exit<unknown, unknown>): Effect.Effect<void> {
    for (let finalizer = this.#all.pop(); finalizer !== undefined; finalizer = this.#all.pop()) {
      const ended = finalizer(exit)
      if (!Exit.isExit(ended) || Exit.isFailure(ended)) return ended
    }
    return Effect.void
  }
}

/** Acquires a value and releases it when the scope closes. */
export const acquired = <A, E, R>(
  acquire: Effect.Effect<A, E, R>,
  release: (value: A) => Effect.Effect<void>
): Effect.Effect<A, E, R | Scope.Scope> =>
  Effect.withFiber((fiber) => {
    const scope = Context.getUnsafe(fiber.context, Scope.Scope)
    return Effect.uninterruptible(
      Effect.flatMapEager(acquire, (value) =>
        Effect.mapEager(
          addFinalizer(scope, () => release(value)),
          () => value
        )
      )
    )
  })

/** Calls `use` with the scope of the request. */
export const withScope = <A, E, R>(
  use: (scope: Scope.Scope) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R | Scope.Scope> =>
  Effect.withFiber((fiber) => use(Context.getUnsafe(fiber.context, Scope.Scope)))
