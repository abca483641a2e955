/**
 * The untyped calls of one connection: any endpoint, and the streamed chat. They need no further
 * services.
 */
import { Effect, Stream } from "effect"
import { HttpClient } from "effect/http"
import { type Chunk, chunks } from "./Chunks.ts"
import { type Endpoint, endpoints } from "./Endpoints.ts"
import { type CallOptions, type ConnectionOptions, makeSend, type Parts, read } from "./Exchange.ts"
import { type TollgateError } from "./TollgateError.ts"

export interface Calls {
  readonly call: (endpoint: Endpoint) => (parts?: Parts, options?: CallOptions) => Effect.Effect<unknown, TollgateError>
  readonly stream: (parts: Parts, options?: CallOptions) => Stream.Stream<Chunk, TollgateError>
}

export const makeCalls = (connection: ConnectionOptions, http: HttpClient.HttpClient): Calls => {
  const send = makeSend(connection)
  const call: Calls["call"] =
    (endpoint) =>
    (parts = {}, options = {}) =>
      send(endpoint, parts, options).pipe(
        Effect.flatMap((response) => read(endpoint, response)),
        Effect.provideService(HttpClient.HttpClient, http)
      )
  const stream: Calls["stream"] = (parts, options = {}) =>
    Stream.unwrap(
      Effect.fromNullishOr(endpoints.find(({ group }) => group === "chat")).pipe(
        Effect.orDie,
        Effect.flatMap((chat) =>
          send(chat, { ...parts, payload: { ...Object(parts.payload), stream: true } }, options)
        ),
        Effect.map((response) => chunks(response.stream)),
        Effect.provideService(HttpClient.HttpClient, http)
      )
    )
  return { call, stream }
}
