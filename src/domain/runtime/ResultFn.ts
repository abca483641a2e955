/**
 * `Result.gen` for a function that runs with each request, as `Effect.fnUntraced` is for effects.
 * V8 keeps a generator function, once it is called, with all that its closure holds until the next
 * full collection. A function that is made for each request would keep the request's texts.
 */
import { Result } from "effect"

/** The steps of a function that ends with `A` or fails with `E`. */
export type Steps<A, E> = Generator<Result.Result<unknown, E>, A, never>

/** The steps of a function that returns `R`. */
export type StepsOf<R> = R extends Result.Result<infer A, infer E> ? Steps<A, E> : never

/** `body` uses nothing but its arguments and what outlives requests. */
export const resultFn =
  <Args extends ReadonlyArray<unknown>, E, A>(body: (...args: Args) => Steps<A, E>) =>
  (...args: Args): Result.Result<A, E> =>
    Result.gen(() => body(...args))
