/**
 * A context to which requests add their services without a copy. By default a context copies all
 * services with its ninth addition, and a streamed or traced request makes more.
 */
import { Context, Effect } from "effect"

const MOST_ADDITIONS = 16

/** Runs `self` with the same services, in a context that has room for more. */
export const withRoom = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.updateContext(self, ({ mapUnsafe }: Context.Context<R>) =>
    Context.makeUnsafe<R>(mapUnsafe, { maxDepth: MOST_ADDITIONS })
  )
