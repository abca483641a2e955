/**
 * Answers a streamed request whose first token is late: after fifteen seconds the head is sent, so
 * that neither a proxy nor a client takes the connection for dead. Comments or pings follow until
 * the answer is there. An error is then an event of the stream, because the status has been sent.
 * Until then an error has its own status.
 */
import { Effect, type Exit, Fiber, type Scope, Stream } from "effect"
import { type Deadlines } from "../../domain/runtime/Deadlines.ts"
import { type GatewayError, type Reason } from "../../domain/Errors.ts"
import { type RequestState } from "../edge/CurrentRequest.ts"
import { failureOf } from "../errors/ErrorResponse.ts"

export interface LateAnswer<A, B> {
  readonly run: Effect.Effect<A, GatewayError, Scope.Scope>
  readonly state: RequestState
  /** What is answered in time. */
  readonly inTime: (answer: A) => B
  /** What is answered by a stream that waits for the answer. */
  readonly late: (bytes: Stream.Stream<Uint8Array>) => B
  /** The bytes of the answer. */
  readonly encode: (answer: A) => Stream.Stream<Uint8Array>
  /** The text that fills a silence. */
  readonly keepAlive: () => string
  /** The text of an error, which ends the stream. `reason`: null for a defect. */
  readonly failed: (reason: Reason | null) => Effect.Effect<string>
  /** Writes into the response while its stream waits. */
  readonly comment: (text: () => string) => void
}

/**
 * The answer of `run` if it comes in time; else the bytes of a stream that waits for it.
 * `silences`: of the length after which the head is due. Interrupting the caller, or the reader of
 * the bytes, interrupts `run`.
 */
export const makeEarlyHead =
  (silences: Deadlines) =>
  <A, B>(answer: LateAnswer<A, B>): Effect.Effect<B, GatewayError, Scope.Scope> =>
    Effect.flatMap(Effect.forkChild(answer.run, { startImmediately: true }), (fiber) => {
      const begun = () => Effect.sync(() => answer.late(bytesOf(answer, fiber, silences)))
      return awaited(fiber, silences, (exit) => Effect.map(exit, answer.inTime), begun)
    })

/** The bytes of an answer that is late. */
const bytesOf = <A, B>(
  { comment, encode, failed, keepAlive, state }: LateAnswer<A, B>,
  fiber: Fiber.Fiber<A, GatewayError>,
  silences: Deadlines
): Stream.Stream<Uint8Array> => {
  const ended = (exit: Exit.Exit<A, GatewayError>): Effect.Effect<Stream.Stream<Uint8Array>> =>
    exit._tag === "Success"
      ? Effect.succeed(encode(exit.value))
      : Effect.map(Effect.flatMap(failureOf(exit.cause, state), failed), (text) => Stream.succeed(Buffer.from(text)))
  const rest = awaited(fiber, silences, ended, () => {
    comment(keepAlive)
    return null
  })
  return Stream.concat(Stream.succeed<Uint8Array>(Buffer.from(keepAlive())), Stream.unwrap(rest))
}

/**
 * Waits for the end of the fiber. `silent`: called after each silence; ends the waiting, or null.
 */
const awaited = <A, E, B, E2>(
  fiber: Fiber.Fiber<A, E>,
  silences: Deadlines,
  ended: (exit: Exit.Exit<A, E>) => Effect.Effect<B, E2>,
  silent: () => Effect.Effect<B, E2> | null
): Effect.Effect<B, E2> =>
  Effect.callback((resume) => {
    const silence = silences.begin(() => {
      const instead = silent()
      if (instead === null) silence.restart()
      else resume(instead)
    })
    const forget = fiber.addObserver((exit) => {
      silence.end()
      resume(Effect.suspend(() => ended(exit)))
    })
    return Effect.suspend(() => {
      silence.end()
      forget()
      return Fiber.interrupt(fiber)
    })
  })
