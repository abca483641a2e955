/**
 * The gateway as a service for Effect programs: every endpoint of the contract by group and name,
 * and chat completions as a stream of chunks. It needs `fetch` but not Node.
 */
import { Context, Effect, Layer, type Stream } from "effect"
import { FetchHttpClient, HttpClient } from "effect/http"
import { makeCalls } from "./Calls.ts"
import { type Chunk } from "./Chunks.ts"
import { type AnswerOf, type EndpointsOf, grouped, type GroupNames, type RequestOf } from "./Endpoints.ts"
import { type CallOptions, type ConnectionOptions } from "./Exchange.ts"
import { type TollgateError } from "./TollgateError.ts"

type ChatEndpoint = EndpointsOf<"chat">
/** `stream` is absent: the method decides. */
export type ChatRequest = RequestOf<ChatEndpoint> & { readonly payload: { readonly stream?: never } }
export type ChatAnswer = AnswerOf<ChatEndpoint>

/** The request is optional if the endpoint takes none. */
export type Arguments<Request, Options> = {} extends Request
  ? [request?: Request, options?: Options]
  : [request: Request, options?: Options]

type Call<Request, Answer> = (...given: Arguments<Request, CallOptions>) => Effect.Effect<Answer, TollgateError>

export type TollgateShape = {
  readonly [Name in Exclude<GroupNames, "chat">]: {
    readonly [E in EndpointsOf<Name> as E["identifier"]]: Call<RequestOf<E>, AnswerOf<E>>
  }
} & {
  readonly chat: {
    /** The whole answer. */
    readonly complete: Call<ChatRequest, ChatAnswer>
    /**
     * Streams the answer. A rejected request fails before the first chunk; a broken stream fails
     * after the last one.
     */
    readonly stream: (request: ChatRequest, options?: CallOptions) => Stream.Stream<Chunk, TollgateError>
  }
}

export class Tollgate extends Context.Service<Tollgate, TollgateShape>()("tollgate/client/Tollgate") {
  /** Uses the caller's `HttpClient`. */
  static readonly make = Effect.fnUntraced(function* (
    options: ConnectionOptions
  ): Effect.fn.Return<TollgateShape, never, HttpClient.HttpClient> {
    const http = yield* HttpClient.HttpClient
    const calls = makeCalls(options, http)
    return grouped<TollgateShape>(calls.call, calls.stream)
  })

  /** Uses `fetch`. */
  static readonly layer = (options: ConnectionOptions): Layer.Layer<Tollgate> =>
    Layer.effect(Tollgate, Tollgate.make(options)).pipe(Layer.provide(FetchHttpClient.layer))
}
