/**
 * The gateway as a service for Effect programs: every endpoint of the contract by group and name,
 * and the three APIs of conversations as streams of events. It needs `fetch` but not Node.
 */
import { Context, Effect, Layer, type Stream } from "effect"
import { FetchHttpClient, HttpClient } from "effect/http"
import { makeCalls } from "./Calls.ts"
import { type EventOf, type StreamedGroup, type StreamedName } from "./Chunks.ts"
import { type AnswerOf, type EndpointsOf, grouped, type GroupNames, type RequestOf } from "./Endpoints.ts"
import { type CallOptions, type ConnectionOptions } from "./Exchange.ts"
import { type TollgateError } from "./TollgateError.ts"

/** `stream` is absent: the method decides. */
export type StreamRequest<Group extends StreamedGroup> = RequestOf<
  Extract<EndpointsOf<Group>, { readonly identifier: StreamedName<Group> }>
> & { readonly payload: { readonly stream?: never } }

/** The request of a call that is answered whole. */
export type CallRequest<Group extends GroupNames, E extends EndpointsOf<GroupNames>> = Group extends StreamedGroup
  ? E["identifier"] extends StreamedName<Group>
    ? StreamRequest<Group>
    : RequestOf<E>
  : RequestOf<E>

export type ChatRequest = StreamRequest<"chat">
export type ChatAnswer = AnswerOf<EndpointsOf<"chat">>

/** The request is optional if the endpoint takes none. */
export type Arguments<Request, Options> = {} extends Request
  ? [request?: Request, options?: Options]
  : [request: Request, options?: Options]

type Call<Request, Answer> = (...given: Arguments<Request, CallOptions>) => Effect.Effect<Answer, TollgateError>

export type TollgateShape = {
  readonly [Name in GroupNames]: {
    /** The whole answer. */
    readonly [E in EndpointsOf<Name> as E["identifier"]]: Call<CallRequest<Name, E>, AnswerOf<E>>
  }
} & {
  readonly [Name in StreamedGroup]: {
    /**
     * Streams the answer. A rejected request fails before the first event; a broken stream fails
     * after the last one.
     */
    readonly stream: (
      request: StreamRequest<Name>,
      options?: CallOptions
    ) => Stream.Stream<EventOf<Name>, TollgateError>
  }
}

export class Tollgate extends Context.Service<Tollgate, TollgateShape>()("tollgate/client/Tollgate") {
  /** Uses the caller's `HttpClient`. */
  static readonly make = Effect.fnUntraced(function* (
    options: ConnectionOptions
  ): Effect.fn.Return<TollgateShape, never, HttpClient.HttpClient> {
    const http = yield* HttpClient.HttpClient
    const calls = makeCalls(options, http)
    return grouped<TollgateShape>(calls.call, calls.streams)
  })

  /** Uses `fetch`. */
  static readonly layer = (options: ConnectionOptions): Layer.Layer<Tollgate> =>
    Layer.effect(Tollgate, Tollgate.make(options)).pipe(Layer.provide(FetchHttpClient.layer))
}
