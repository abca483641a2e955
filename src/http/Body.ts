/**
 * Reads the text of a request's body, once, within limits of size and time. Who sends too much, or too slowly, is told so while the
 * connection still stands. A client that leaves on the way interrupts its request.
 */
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Context, Effect, Layer } from "effect"
import { HttpMethod, type HttpServerRequest } from "effect/http"
import { type Readable } from "node:stream"
import { BodyTooLarge, BodyTooSlow, gatewayError, type GatewayError } from "../domain/Errors.ts"
import { type Deadline, type Deadlines, makeDeadlines } from "../domain/Deadlines.ts"

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
        const deadlines = yield* makeDeadlines(bodyTimeoutMs)
        const tooLarge = Effect.fail(gatewayError(new BodyTooLarge({ limitBytes: maxBodyBytes })))
        const tooSlow = Effect.fail(gatewayError(new BodyTooSlow({ limitMs: bodyTimeoutMs })))

        return Bodies.of({
          read: (request) =>
            Number(request.headers["content-length"] ?? 0) > maxBodyBytes
              ? tooLarge
              : Effect.callback((resume) => {
                  const reading = new Reading(NodeHttpServerRequest.toIncomingMessage(request), maxBodyBytes, {
                    whole: (text) => resume(Effect.succeed(text)),
                    large: () => resume(tooLarge),
                    left: () => resume(Effect.interrupt)
                  })
                  reading.limit(deadlines, () => resume(tooSlow))
                  return Effect.sync(() => reading.stop())
                })
        })
      })
    )
}

/** How a reading can end by itself. */
interface Endings {
  readonly whole: (text: string) => void
  readonly large: () => void
  readonly left: () => void
}

/** Ends in one way, once, unless it is stopped before. What is left of a body is drained after the answer went out. */
class Reading {
  readonly #source: Readable
  readonly #maxBytes: number
  readonly #endings: Endings
  readonly #chunks: Array<Buffer> = []
  #bytes = 0
  #limit: Deadline | null = null

  constructor(source: Readable, maxBytes: number, endings: Endings) {
    this.#source = source
    this.#maxBytes = maxBytes
    this.#endings = endings
    source.on("data", this.#onData)
    source.once("end", this.#onEnd)
    source.once("close", this.#onLeft)
    source.once("error", this.#onLeft)
  }

  limit(deadlines: Deadlines, onLate: () => void): void {
    this.#limit = deadlines.begin(() => {
      this.#source.pause()
      this.stop()
      onLate()
    })
  }

  stop(): void {
    this.#source.off("data", this.#onData)
    this.#source.off("end", this.#onEnd)
    this.#source.off("close", this.#onLeft)
    this.#source.off("error", this.#onLeft)
    this.#limit?.end()
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
