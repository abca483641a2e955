/**
 * The untyped calls of one connection: any endpoint, and the streams. They need no further
 * services.
 */
import { Effect, Stream } from "effect"
import { HttpClient } from "effect/http"
import { streamedEndpoints, type StreamedGroup } from "./Chunks.ts"
import { type Endpoint, endpoints } from "./Endpoints.ts"
import { events, type StreamForm } from "./Events.ts"
import { type CallOptions, type ConnectionOptions, makeSend, type Parts, read } from "./Exchange.ts"
import { type TollgateError } from "./TollgateError.ts"

type StreamCall = (parts: Parts, options?: CallOptions) => Stream.Stream<unknown, TollgateError>

export interface Calls {
  readonly call: (endpoint: Endpoint) => (parts?: Parts, options?: CallOptions) => Effect.Effect<unknown, TollgateError>
  readonly streams: Readonly<Record<StreamedGroup, StreamCall>>
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
  const stream =
    <Event>(group: StreamedGroup, form: StreamForm<Event>): StreamCall =>
    (parts, options = {}) =>
      Stream.unwrap(
        Effect.fromNullishOr(
          endpoints.find((each) => each.group === group && each.name === streamedEndpoints[group].name)
        ).pipe(
          Effect.orDie,
          Effect.flatMap((endpoint) =>
            send(endpoint, { ...parts, payload: { ...Object(parts.payload), stream: true } }, options)
          ),
          Effect.map((response) => events(form, response.stream, response.headers["x-request-id"] ?? "")),
          Effect.provideService(HttpClient.HttpClient, http)
        )
      )
  return {
    call,
    streams: {
      chat: stream("chat", streamedEndpoints.chat.form),
      messages: stream("messages", streamedEndpoints.messages.form),
      responses: stream("responses", streamedEndpoints.responses.form)
    }
  }
}
