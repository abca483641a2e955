/**
 * The gateway as a service of an Effect program: every endpoint of the contract by its group and name, and chat completions also as a
 * stream of chunks. It needs a `fetch` and nothing of Node.
 */
import { Context, Effect, Layer, type Stream } from "effect"
import { FetchHttpClient, HttpClient } from "effect/http"
import { makeCalls } from "./Calls.ts"
import { type Chunk } from "./Chunks.ts"
import { type AnswerOf, type EndpointsOf, grouped, type GroupNames, type RequestOf } from "./Endpoints.ts"
import { type CallOptions, type ConnectionOptions } from "./Exchange.ts"
import { type TollgateError } from "./TollgateError.ts"

type ChatEndpoint = EndpointsOf<"chat">
/** `stream` is the call's to say. */
export type ChatRequest = RequestOf<ChatEndpoint> & { readonly payload: { readonly stream?: never } }
export type ChatAnswer = Exclude<AnswerOf<ChatEndpoint>, Stream.Stream<unknown, unknown>>

/** Without a request where the endpoint takes none. */
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
    /** The answer as it comes. What is refused fails before the first chunk; what breaks fails after the last. */
    readonly stream: (request: ChatRequest, options?: CallOptions) => Stream.Stream<Chunk, TollgateError>
  }
}

export class Tollgate extends Context.Service<Tollgate, TollgateShape>()("tollgate/client/Tollgate") {
  /** Over an `HttpClient` of the caller's. */
  static readonly make = Effect.fnUntraced(function* (
    options: ConnectionOptions
  ): Effect.fn.Return<TollgateShape, never, HttpClient.HttpClient> {
    const http = yield* HttpClient.HttpClient
    const calls = makeCalls(options, http)
    return grouped<TollgateShape>(calls.call, calls.stream)
  })

  /** Over `fetch`. */
  static readonly layer = (options: ConnectionOptions): Layer.Layer<Tollgate> =>
    Layer.effect(Tollgate, Tollgate.make(options)).pipe(Layer.provide(FetchHttpClient.layer))
}
