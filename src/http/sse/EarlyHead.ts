/**
 * Answers a streamed request whose first token is late: after fifteen seconds the head is sent, so
 * that neither a proxy nor a client takes the connection for dead. Comments or pings follow until
 * the answer is there. An error is then an event of the stream, because the status has been sent.
 * Until then an error has its own status.
 */
import { Cause, Effect, type Exit, Fiber, type Scope, Stream } from "effect"
import { type Deadlines } from "../../domain/Deadlines.ts"
import { type GatewayError, type Reason } from "../../domain/Errors.ts"
import { type RequestState } from "../edge/CurrentRequest.ts"
import { failureOf } from "../errors/ErrorResponse.ts"

export interface LateAnswer<A> {
  readonly run: Effect.Effect<A, GatewayError, Scope.Scope>
  readonly state: RequestState
  /** The bytes of the answer. */
  readonly encode: (answer: A) => Stream.Stream<Uint8Array>
  /** The text that fills a silence. */
  readonly keepAlive: () => string
  /** The text of an error, which ends the stream. `reason`: null for a defect. */
  readonly failed: (reason: Reason | null) => Effect.Effect<string>
  /** Writes into the response while its stream waits. */
  readonly comment: (text: () => string) => void
}

export type Answered<A> =
  { readonly _tag: "InTime"; readonly answer: A } | { readonly _tag: "Late"; readonly bytes: Stream.Stream<Uint8Array> }

/**
 * The answer of `run` if it comes in time; else the bytes of a stream that waits for it.
 * `silences`: of the length after which the head is due. Interrupting the caller, or the reader of
 * the bytes, interrupts `run`.
 */
export const makeEarlyHead =
  (silences: Deadlines) =>
  <A>(late: LateAnswer<A>): Effect.Effect<Answered<A>, GatewayError, Scope.Scope> =>
    Effect.flatMap(Effect.forkChild(late.run, { startImmediately: true }), (fiber) =>
      Effect.flatMap(awaited(fiber, silences, null), (exit): Effect.Effect<Answered<A>, GatewayError> => {
        if (exit !== null) return Effect.map(exit, (answer) => ({ _tag: "InTime", answer }))
        const rest = Effect.flatMap(awaited(fiber, silences, late), (ended) =>
          ended?._tag === "Success"
            ? Effect.succeed(late.encode(ended.value))
            : failed(late, ended?.cause ?? Cause.empty)
        )
        return Effect.succeed({
          _tag: "Late",
          bytes: Stream.concat(Stream.succeed<Uint8Array>(Buffer.from(late.keepAlive())), Stream.unwrap(rest))
        })
      })
    )

/** What the fiber ends with. After each silence: null, or a comment once the head is sent. */
const awaited = <A, E>(
  fiber: Fiber.Fiber<A, E>,
  silences: Deadlines,
  late: Pick<LateAnswer<A>, "comment" | "keepAlive"> | null
): Effect.Effect<Exit.Exit<A, E> | null> =>
  Effect.callback((resume) => {
    const silence = silences.begin(() => {
      if (late === null) return resume(Effect.succeed(null))
      late.comment(late.keepAlive)
      silence.restart()
    })
    const forget = fiber.addObserver((exit) => {
      silence.end()
      resume(Effect.succeed(exit))
    })
    return Effect.suspend(() => {
      silence.end()
      forget()
      return Fiber.interrupt(fiber)
    })
  })

/** The event of an error, and the end of the stream. */
const failed = <A>(late: LateAnswer<A>, cause: Cause.Cause<GatewayError>) =>
  Effect.map(Effect.flatMap(failureOf(cause, late.state), late.failed), (text): Stream.Stream<Uint8Array> =>
    Stream.succeed(Buffer.from(text))
  )
