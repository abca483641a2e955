/**
 * Answers a completion as JSON or as Server-Sent Events, in the form of one API.
 */
import { Cause, Effect, type Scope, Stream } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { makeDeadlines } from "../../domain/runtime/Deadlines.ts"
import { type GatewayError, type Reason } from "../../domain/Errors.ts"
import { type Completed, type Head } from "../../gateway/request/Answer.ts"
import { type RequestState } from "../edge/CurrentRequest.ts"
import { failureOf } from "../errors/ErrorResponse.ts"
import { commentInto } from "./Comment.ts"
import { makeEarlyHead } from "./EarlyHead.ts"
import { type EventWriter, makeEncode, SILENCE_MS } from "./Sse.ts"

export interface AnsweringOptions {
  /** How long the client of a stream may read nothing. */
  readonly stalledReaderMs: number
}

/** The form of an answer. */
export interface AnswerForm<Whole> {
  readonly whole: (completed: Extract<Completed, { readonly _tag: "Reply" }>) => Whole
  readonly writer: (head: Head) => EventWriter
  /** The text that fills a silence. */
  readonly keepAlive: () => string
  /**
   * The text of an error before the first token, which ends the stream. `reason`: null for a
   * defect.
   */
  readonly failed: (reason: Reason | null) => Effect.Effect<string>
  /** Whether a streamed request that fails gets the error as an event, and not as a status. */
  readonly isToldInStream?: (reason: Reason) => boolean
}

export interface Answering<Whole> {
  readonly run: Effect.Effect<Completed, GatewayError, Scope.Scope>
  readonly state: RequestState
  readonly request: HttpServerRequest.HttpServerRequest
  readonly isStreamed: boolean
  readonly form: AnswerForm<Whole>
}

export const makeAnswering = ({ stalledReaderMs }: AnsweringOptions) =>
  Effect.gen(function* () {
    const silences = yield* makeDeadlines(SILENCE_MS)
    const encode = makeEncode(silences, yield* makeDeadlines(stalledReaderMs))
    const withEarlyHead = makeEarlyHead(silences)

    const bytesOf = <Whole>({ form, request }: Answering<Whole>, { events, head }: Streamed) =>
      encode(form.writer(head), events, form.keepAlive, commentInto(request))
    const answer = <Whole>(asked: Answering<Whole>, completed: Completed) =>
      completed._tag === "Reply" ? asked.form.whole(completed) : streamResponse(bytesOf(asked, completed))

    return <Whole>(
      asked: Answering<Whole>
    ): Effect.Effect<Whole | HttpServerResponse.HttpServerResponse, GatewayError, Scope.Scope> => {
      const { form, isStreamed, request, run, state } = asked
      if (!isStreamed) return Effect.map(run, (completed) => answer(asked, completed))
      const { failed, keepAlive } = form
      const streamed = withEarlyHead({
        run,
        state,
        comment: commentInto(request),
        keepAlive,
        failed,
        inTime: (completed) => answer(asked, completed),
        late: streamResponse,
        encode: (completed) => (completed._tag === "Stream" ? bytesOf(asked, completed) : Stream.empty)
      })
      const { isToldInStream } = form
      if (isToldInStream === undefined) return streamed
      return Effect.catch(streamed, (error) =>
        isToldInStream(error.reason)
          ? Effect.map(Effect.flatMap(failureOf(Cause.fail(error), state), failed), (text) =>
              streamResponse(Stream.succeed(Buffer.from(text)))
            )
          : Effect.fail(error)
      )
    }
  })

type Streamed = Extract<Completed, { readonly _tag: "Stream" }>

const streamResponse = (bytes: Stream.Stream<Uint8Array>) =>
  HttpServerResponse.stream(bytes, {
    contentType: "text/event-stream; charset=utf-8",
    headers: { "cache-control": "no-cache", "x-accel-buffering": "no" }
  })
