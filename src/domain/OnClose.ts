/**
 * Cheap finalizers for the scope of a request. `Effect.addFinalizer` and `Effect.acquireRelease`
 * give each finalizer all services of its context, which copies them once per finalizer. These
 * finalizers get no services.
 */
import { Context, Effect, Scope } from "effect"

export const onClose = (finalizer: Effect.Effect<unknown>): Effect.Effect<void, never, Scope.Scope> =>
  Effect.withFiber((fiber) => Scope.addFinalizer(Context.getUnsafe(fiber.context, Scope.Scope), finalizer))

/** Acquires a value and releases it when the scope closes. */
export const acquired = <A, E, R>(
  acquire: Effect.Effect<A, E, R>,
  release: (value: A) => Effect.Effect<unknown>
): Effect.Effect<A, E, R | Scope.Scope> =>
  Effect.uninterruptible(Effect.tap(acquire, (value) => onClose(Effect.suspend(() => release(value)))))
