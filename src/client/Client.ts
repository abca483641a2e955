/**
 * The client package, `tollgate/client`. `connect` offers the gateway's endpoints as promises and
 * chat streams as async iterables. `Tollgate` offers them as effects and streams. Both fail with a
 * `TollgateError` and run wherever `fetch` exists.
 */
import { Context, Data, Effect, Record, Stream } from "effect"
import { FetchHttpClient, HttpClient } from "effect/http"
import { makeCalls } from "./Calls.ts"
import { type EventOf, type StreamedGroup } from "./Chunks.ts"
import { type AnswerOf, type EndpointsOf, grouped, type GroupNames } from "./Endpoints.ts"
import { type CallOptions as EffectCallOptions, type ConnectionOptions, type Parts } from "./Exchange.ts"
import { type Arguments, type CallRequest, type StreamRequest } from "./Tollgate.ts"
import { type TollgateError } from "./TollgateError.ts"

export { type MessagesEvent } from "../api/Messages.ts"
export { type ResponsesEvent } from "../api/Responses.ts"
export { type Chunk } from "./Chunks.ts"
export { type ConnectionOptions, type Head } from "./Exchange.ts"
export { type ChatAnswer, type ChatRequest, Tollgate, type TollgateShape } from "./Tollgate.ts"
export { BrokenOff, CutOff, Refused, TollgateError, Unexpected, Unreachable, Unsendable } from "./TollgateError.ts"

export interface ClientOptions extends ConnectionOptions {
  /** Replaces the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch | undefined
}

export interface CallOptions extends EffectCallOptions {
  /** Aborts the call, which then fails with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

type Call<Request, Answer> = (...given: Arguments<Request, CallOptions>) => Promise<Answer>

export type Client = {
  readonly [Name in GroupNames]: {
    readonly [E in EndpointsOf<Name> as E["identifier"]]: Call<CallRequest<Name, E>, AnswerOf<E>>
  }
} & {
  readonly [Name in StreamedGroup]: {
    /**
     * The request is sent at the first `next`. Leaving the loop cancels the call, at the gateway
     * and at the provider.
     */
    readonly stream: (request: StreamRequest<Name>, options?: CallOptions) => AsyncIterable<EventOf<Name>>
  }
}

/** A client of one gateway. It connects on the first call and does not need to be closed. */
export const connect = (options: ClientOptions): Client => {
  const services = Context.make(HttpClient.TracerPropagationEnabled, false).pipe(
    options.fetch === undefined ? (context) => context : Context.add(FetchHttpClient.Fetch, options.fetch)
  )
  // @effect-diagnostics-next-line strictEffectProvide:off -- this is where effects end: there is no program around it
  const http = Effect.runSync(HttpClient.HttpClient.pipe(Effect.provide(FetchHttpClient.layer)))
  const calls = makeCalls(options, http)
  return grouped<Client>(
    (endpoint) =>
      (parts?: Parts, { signal, ...rest }: CallOptions = {}) =>
        run(Effect.provideContext(calls.call(endpoint)(parts, rest), services), signal),
    Record.map(
      calls.streams,
      (stream) =>
        (parts: Parts, { signal, ...rest }: CallOptions = {}) =>
          iterable(stream(parts, rest), services, signal)
    )
  )
}

/** The signal was aborted. */
class Aborted extends Data.TaggedError("Aborted")<{}> {}

/** Rejects with the error itself, or with the reason of the signal that aborted the call. */
const reasonOf =
  (signal: AbortSignal | undefined) =>
  (error: unknown): Promise<never> =>
    Promise.reject(signal?.aborted === true ? signal.reason : error)

const run = <A>(effect: Effect.Effect<A, TollgateError>, signal: AbortSignal | undefined): Promise<A> =>
  Effect.runPromise(effect, { signal }).catch(reasonOf(signal))

const iterable = <A>(
  stream: Stream.Stream<A, TollgateError>,
  services: Context.Context<never>,
  signal: AbortSignal | undefined
): AsyncIterable<A> => {
  if (signal === undefined) return Stream.toAsyncIterableWith(stream, services)
  const aborted = Effect.callback<never, Aborted>((resume) => {
    const onAbort = () => resume(Effect.fail(new Aborted()))
    if (signal.aborted) return onAbort()
    signal.addEventListener("abort", onAbort, { once: true })
    return Effect.sync(() => signal.removeEventListener("abort", onAbort))
  })
  const inner = Stream.toAsyncIterableWith(Stream.interruptWhen(stream, aborted), services)
  return {
    [Symbol.asyncIterator]: () => {
      const iterator = inner[Symbol.asyncIterator]()
      return { ...iterator, next: () => iterator.next().catch(reasonOf(signal)) }
    }
  }
}
