/**
 * An application that can be replaced while it serves. Requests that began on the old one end on
 * it, and then it is closed. When the new one cannot be built, the old one keeps running. A SIGHUP
 * triggers the replacement.
 */
import { Context, Effect, Exit, Queue, Scope, Stream } from "effect"
import { type HttpServerRequest, type HttpServerResponse } from "effect/http"
import { addFinalizer } from "../../domain/runtime/OnClose.ts"

type App<E> = Effect.Effect<HttpServerResponse.HttpServerResponse, E, Scope.Scope | HttpServerRequest.HttpServerRequest>

interface Running<E> {
  readonly scope: Scope.Closeable
  requests: number
  retired: boolean
  /** A request ended. */
  readonly ended: () => Effect.Effect<void>
  readonly use: () => App<E>
}

export interface Swappable<E> {
  readonly app: App<E>
  /** Builds the next application and switches to it. Fails if the build fails. */
  readonly swap: <BuildError>(build: Effect.Effect<App<E>, BuildError, Scope.Scope>) => Effect.Effect<void, BuildError>
}

/** The scope is the server's. Closing it closes the running application. */
export const make = Effect.fnUntraced(function* <E, BuildError>(first: Effect.Effect<App<E>, BuildError, Scope.Scope>) {
  const parent = yield* Effect.scope

  const start = Effect.fnUntraced(function* <Failure>(build: Effect.Effect<App<E>, Failure, Scope.Scope>) {
    const scope = yield* Scope.fork(parent)
    const app = yield* Effect.onError(Scope.provide(build, scope), (cause) => Scope.close(scope, Exit.failCause(cause)))
    const running: Running<E> = {
      scope,
      requests: 0,
      retired: false,
      ended: () => {
        running.requests--
        return running.retired ? takeDownIfDone(running) : Effect.void
      },
      use: () => app
    }
    return running
  })

  let current = yield* start(first)

  const takeDownIfDone = (running: Running<E>) =>
    Effect.suspend(() =>
      running.retired && running.requests === 0 ? Scope.close(running.scope, Exit.void) : Effect.void
    )

  const app: App<E> = Effect.withFiber((fiber) => {
    const running = current
    running.requests++
    // The request's scope closes after its response was sent, streams included.
    return Effect.flatMapEager(addFinalizer(Context.getUnsafe(fiber.context, Scope.Scope), running.ended), running.use)
  })

  const swap = Effect.fnUntraced(function* <Failure>(build: Effect.Effect<App<E>, Failure, Scope.Scope>) {
    const next = yield* start(build)
    const previous = current
    current = next
    previous.retired = true
    yield* takeDownIfDone(previous)
  })

  return { app, swap } satisfies Swappable<E>
})

/**
 * Runs `action` at every SIGHUP, one at a time. On Windows that signal is the end of the console,
 * so nothing listens there.
 */
export const onHangup = (action: Effect.Effect<void>) =>
  Stream.callback<void>((queue) =>
    Effect.acquireRelease(
      Effect.sync(() => {
        const heard = () => Queue.offerUnsafe(queue, undefined)
        if (process.platform !== "win32") process.on("SIGHUP", heard)
        return heard
      }),
      (heard) => Effect.sync(() => process.off("SIGHUP", heard))
    )
  ).pipe(
    Stream.runForEach(() => action),
    Effect.forkScoped
  )
