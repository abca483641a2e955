/**
 * One gateway in its own process per file, with the mock provider and an API key with all scopes.
 */
import { Context, Effect, Layer } from "effect"
import { type Gateway, promptMarker, startGateway } from "../support/Gateway.ts"

export class Served extends Context.Service<
  Served,
  { readonly gateway: Gateway; readonly key: string; readonly directory: string }
>()("tollgate/test/Served") {
  static readonly layer = Layer.effect(
    Served,
    Effect.gen(function* () {
      const gateway = yield* startGateway()
      const { key } = yield* gateway.issueKey()
      return { gateway, key, directory: gateway.directory }
    })
  )
}

/** A prompt with the marker that would reveal a leak. */
export const says = (content: string) => [{ role: "user" as const, content: `${content} ${promptMarker}` }]

/** The rejection of a promise. Dies if it resolves. */
export const rejection = (run: () => PromiseLike<unknown>): Effect.Effect<unknown> =>
  Effect.promise(() =>
    run().then(
      () => Promise.reject(new Error("it did not reject")),
      (error: unknown) => error
    )
  )

/** All items of an iterable, and its failure if it fails. */
export const drained = <A>(iterable: AsyncIterable<A>) =>
  Effect.promise(async () => {
    const items: Array<A> = []
    try {
      for await (const item of iterable) items.push(item)
    } catch (error) {
      return { items, error }
    }
    return { items, error: null }
  })
