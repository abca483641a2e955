/**
 * How the events of each API's streams are read: the end without which a stream is cut off, and the
 * error that broke it.
 */
import { Effect, Predicate, Schema } from "effect"
import { ErrorBody } from "../api/Failure.ts"
import { MessagesEvent } from "../api/Messages.ts"
import { MessagesErrorBody } from "../api/MessagesErrors.ts"
import { ResponseFault, ResponsesEvent } from "../api/Responses.ts"
import { ChatChunk } from "../domain/Chat.ts"
import { type ReadEvent, type StreamForm } from "./Events.ts"
import { errorOfMessages } from "./TollgateError.ts"

export type Chunk = typeof ChatChunk.Type

const decodeChunk = Schema.decodeUnknownEffect(Schema.fromJsonString(ChatChunk))
const decodeError = Schema.decodeUnknownEffect(ErrorBody)

const chat: StreamForm<Chunk> = {
  read: (data) =>
    data === "[DONE]"
      ? Effect.succeed({ event: null, isEnd: true })
      : Effect.flatMap(decodeChunk(data), (event) =>
          event.error === undefined
            ? Effect.succeed({ event })
            : Effect.map(decodeError(event.error), (failure) => ({ event, failure }))
        ),
  end: "[DONE]"
}

const decodeMessages = Schema.decodeUnknownEffect(Schema.fromJsonString(MessagesEvent))
const decodeMessagesError = Schema.decodeUnknownEffect(MessagesErrorBody)

const messages: StreamForm<MessagesEvent> = {
  read: (data) =>
    Effect.flatMap(decodeMessages(data), (event): Effect.Effect<ReadEvent<MessagesEvent>, Schema.SchemaError> =>
      event.type === "error"
        ? Effect.map(decodeMessagesError(event), (error) => ({ event: null, failure: errorOfMessages(error) }))
        : Effect.succeed({ event, isEnd: event.type === "message_stop" })
    ),
  end: "message_stop"
}

const decodeResponses = Schema.decodeUnknownEffect(Schema.fromJsonString(ResponsesEvent))
const decodeFault = Schema.decodeUnknownEffect(ResponseFault)

/** Causes that a later call may not have. */
const passing = new Set(["server_error", "rate_limit_exceeded"])

const responses: StreamForm<ResponsesEvent> = {
  read: (data, requestId) =>
    Effect.flatMap(decodeResponses(data), (event): Effect.Effect<ReadEvent<ResponsesEvent>, Schema.SchemaError> => {
      if (event.type !== "response.failed") {
        return Effect.succeed({ event, isEnd: ends.has(event.type) })
      }
      const response = event["response"]
      const fault = Predicate.hasProperty(response, "error") ? response.error : null
      return Effect.map(decodeFault(fault), ({ code, details, message, param, type }) => ({
        event,
        failure: {
          type,
          code,
          message,
          param,
          request_id: requestId,
          retryable: passing.has(code),
          retry_after: null,
          details
        }
      }))
    }),
  end: "response.completed"
}

const ends = new Set(["response.completed", "response.incomplete"])

/** By the group of the endpoint: its name, and the form of its streams. */
export const streamedEndpoints = {
  chat: { name: "complete", form: chat },
  messages: { name: "create", form: messages },
  responses: { name: "create", form: responses }
} as const

type StreamedEndpoints = typeof streamedEndpoints
export type StreamedGroup = keyof StreamedEndpoints
/** The name of the group's endpoint that can stream. */
export type StreamedName<Group extends StreamedGroup> = StreamedEndpoints[Group]["name"]
/** The events of the group's streams. */
export type EventOf<Group extends StreamedGroup> =
  StreamedEndpoints[Group]["form"] extends StreamForm<infer Event> ? Event : never
