/**
 * What is to be done when the scope of a request closes. `Effect.addFinalizer` and `Effect.acquireRelease` hand the finalizer all services of the
 * place where it was added, which copies all that the program has, once for each finalizer of each request; these need none.
 */
import { Context, Effect, Scope } from "effect"

export const onClose = (finalizer: Effect.Effect<unknown>): Effect.Effect<void, never, Scope.Scope> =>
  Effect.withFiber((fiber) => Scope.addFinalizer(Context.getUnsafe(fiber.context, Scope.Scope), finalizer))

/** What is acquired is released when the scope closes, whatever comes between. */
export const acquired = <A, E, R>(
  acquire: Effect.Effect<A, E, R>,
  release: (value: A) => Effect.Effect<unknown>
): Effect.Effect<A, E, R | Scope.Scope> =>
  Effect.uninterruptible(Effect.tap(acquire, (value) => onClose(Effect.suspend(() => release(value)))))
