/**
 * Reads the text of a request's body, once, within limits of size and time. Who sends too much, or too slowly, is told so while the
 * connection still stands. A client that leaves on the way interrupts its request.
 */
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Clock, Context, Duration, Effect, Layer, Schedule } from "effect"
import { HttpMethod, type HttpServerRequest } from "effect/http"
import { type Readable } from "node:stream"
import { BodyTooLarge, BodyTooSlow, gatewayError, type GatewayError } from "../domain/Errors.ts"

export interface BodyLimits {
  readonly maxBodyBytes: number
  /** From the request on; noticed up to a second late. */
  readonly bodyTimeoutMs: number
}

type Request = HttpServerRequest.HttpServerRequest

/** Whether a request has a body that has to be read. */
export const hasBody = ({ headers, method }: Request): boolean =>
  HttpMethod.hasBody(method) && (headers["transfer-encoding"] !== undefined || headers["content-length"] !== "0")

export class Bodies extends Context.Service<
  Bodies,
  { readonly read: (request: Request) => Effect.Effect<string, GatewayError> }
>()("tollgate/http/Bodies") {
  static readonly layer = ({ bodyTimeoutMs, maxBodyBytes }: BodyLimits) =>
    Layer.effect(
      Bodies,
      Effect.gen(function* () {
        const clock = yield* Clock.Clock
        const tooLarge = Effect.fail(gatewayError(new BodyTooLarge({ limitBytes: maxBodyBytes })))
        const tooSlow = Effect.fail(gatewayError(new BodyTooSlow({ limitMs: bodyTimeoutMs })))

        /** Those under way, the oldest first, and until when they may take. One look after all of them is cheaper than a timer each. */
        const underWay = new Map<Reading, number>()
        const giveUpSlow = Effect.sync(() => {
          const nowMs = clock.currentTimeMillisUnsafe()
          for (const [reading, untilMs] of underWay) {
            if (untilMs > nowMs) return
            underWay.delete(reading)
            reading.giveUp()
          }
        })
        const every = Duration.millis(Math.min(LOOK_EVERY_MS, bodyTimeoutMs / 4))
        yield* Effect.forkScoped(Effect.repeat(giveUpSlow, Schedule.spaced(every)))

        return Bodies.of({
          read: (request) =>
            Number(request.headers["content-length"] ?? 0) > maxBodyBytes
              ? tooLarge
              : Effect.callback((resume) => {
                  const reading = new Reading(NodeHttpServerRequest.toIncomingMessage(request), maxBodyBytes, {
                    ended: () => void underWay.delete(reading),
                    whole: (text) => resume(Effect.succeed(text)),
                    large: () => resume(tooLarge),
                    slow: () => resume(tooSlow),
                    left: () => resume(Effect.interrupt)
                  })
                  underWay.set(reading, clock.currentTimeMillisUnsafe() + bodyTimeoutMs)
                  return Effect.sync(() => reading.stop())
                })
        })
      })
    )
}

const LOOK_EVERY_MS = 1_000

/** How a reading can end; `ended` comes first whatever it is. */
interface Endings {
  readonly ended: () => void
  readonly whole: (text: string) => void
  readonly large: () => void
  readonly slow: () => void
  readonly left: () => void
}

/** Calls one of its endings, once, unless it is stopped before. What is left of a body is drained after the answer went out. */
class Reading {
  readonly #source: Readable
  readonly #maxBytes: number
  readonly #endings: Endings
  readonly #chunks: Array<Buffer> = []
  #bytes = 0

  constructor(source: Readable, maxBytes: number, endings: Endings) {
    this.#source = source
    this.#maxBytes = maxBytes
    this.#endings = endings
    source.on("data", this.#onData)
    source.once("end", this.#onEnd)
    source.once("close", this.#onLeft)
    source.once("error", this.#onLeft)
  }

  giveUp(): void {
    this.#source.pause()
    this.stop()
    this.#endings.slow()
  }

  stop(): void {
    this.#source.off("data", this.#onData)
    this.#source.off("end", this.#onEnd)
    this.#source.off("close", this.#onLeft)
    this.#source.off("error", this.#onLeft)
    this.#endings.ended()
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#bytes += chunk.length
    if (this.#bytes <= this.#maxBytes) return void this.#chunks.push(chunk)
    this.#source.pause()
    this.stop()
    this.#endings.large()
  }

  readonly #onEnd = (): void => {
    this.stop()
    this.#endings.whole(textOf(this.#chunks))
  }

  readonly #onLeft = (): void => {
    this.stop()
    this.#endings.left()
  }
}

/** UTF-8, with or without a byte order mark. */
const textOf = (chunks: ReadonlyArray<Buffer>): string => {
  const [first] = chunks
  const text = (chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks)).toString("utf8")
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text
}

/** The request for those who read it again. */
export const withText = (request: Request, text: string): Request => {
  const again: Request = Object.create(request)
  Object.defineProperty(again, "text", { value: Effect.succeed(text) })
  return again
}
