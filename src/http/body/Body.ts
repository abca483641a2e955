/**
 * Reads the text of a request's body, once, within limits of size, time and shape, and decompresses
 * it if needed. A body beyond a limit is refused at once, before the rest arrives. A client that
 * disconnects interrupts its request.
 */
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Context, Effect, Layer } from "effect"
import { HttpMethod, type HttpServerRequest } from "effect/http"
import { isUtf8 } from "node:buffer"
import { type Readable, type Transform } from "node:stream"
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib"
import { type Deadline, type Deadlines, makeDeadlines } from "../../domain/runtime/Deadlines.ts"
import { makeTurns, type Turns } from "../../domain/runtime/Turns.ts"
import {
  BodyTooLarge,
  BodyTooSlow,
  EncodingUnsupported,
  gatewayError,
  type GatewayError,
  InvalidRequest,
  Overloaded
} from "../../domain/Errors.ts"
import { narrowJson } from "./NarrowJson.ts"
import { Load, type LoadLimits, type Share } from "../../gateway/process/Load.ts"
import { type Excess, JsonShape } from "../../domain/json/JsonShape.ts"
import { type SentBody } from "../../domain/json/SentText.ts"

export interface BodyLimits {
  /** Limit of every body. */
  readonly maxBodyBytes: number
  /** From the start of the request; detected up to a second late. */
  readonly bodyTimeoutMs: number
  readonly server: LoadLimits
}

type Request = HttpServerRequest.HttpServerRequest
type Incoming = ReturnType<typeof NodeHttpServerRequest.toIncomingMessage>

export interface BodyText {
  /** The JSON. Its characters may be written in another way than in the body. */
  readonly text: string
  /** The body as it came, if the text is written in another way. */
  readonly bytes?: Buffer | undefined
  /** A number in the JSON has more digits than a double keeps. */
  readonly hasLongNumber: boolean
  /** The body as it came, if a long part of it may be sent on so. */
  readonly sent?: SentBody | null
}

/** A body as text, or the limit of JSON that it exceeds. */
export type Body = ({ readonly _tag: "Text" } & BodyText) | { readonly _tag: "TooComplex"; readonly excess: Excess }

/** Whether a request has a body to read. */
export const hasBody = ({ headers, method }: Request): boolean =>
  HttpMethod.hasBody(method) && (headers["transfer-encoding"] !== undefined || headers["content-length"] !== "0")

const encodingOf = (header: string | undefined): string => (header ?? "identity").trim().toLowerCase()

/** By the name of the encoding. */
const decoders: ReadonlyMap<string, () => Transform> = new Map<string, () => Transform>([
  ["gzip", () => createGunzip()],
  ["deflate", () => createInflate()],
  ["br", () => createBrotliDecompress()]
])

/** Joining more bytes than this takes one turn, and decoding them another. */
const LARGE_BYTES = 1_048_576

export class BodyReader extends Context.Service<
  BodyReader,
  {
    /**
     * `maxBytes` limits this body, before and after decompression. The limit of every body applies
     * too.
     */
    readonly read: (request: Request, share: Share, maxBytes?: number) => Effect.Effect<Body, GatewayError>
    /**
     * Admits a request to a model, or refuses it when the process is overloaded. Call it before the
     * body is read.
     */
    readonly admit: (share: Share) => Effect.Effect<void, GatewayError>
  }
>()("tollgate/http/body/BodyReader") {
  static readonly layer = ({ bodyTimeoutMs, maxBodyBytes, server: limits }: BodyLimits) =>
    Layer.effect(
      BodyReader,
      Effect.gen(function* () {
        const load = yield* Load
        const deadlines = yield* makeDeadlines(bodyTimeoutMs)
        const turns = yield* makeTurns
        const shared: SharedByReads = {
          deadlines,
          hold: (share, bytes) => load.hold(share, bytes, limits),
          tooLarge: (limitBytes) => {
            const setting = limitBytes === maxBodyBytes ? "TOLLGATE_MAX_BODY_BYTES" : null
            return Effect.fail(gatewayError(new BodyTooLarge({ limitBytes, setting })))
          },
          tooSlow: Effect.fail(gatewayError(new BodyTooSlow({ limitMs: bodyTimeoutMs }))),
          turns
        }

        return BodyReader.of({
          admit: (share) => {
            if (load.isOver(limits)) return overloaded
            load.count(share)
            return Effect.void
          },
          read: (request, share, maxBytes = maxBodyBytes) => {
            const limitBytes = Math.min(maxBytes, maxBodyBytes)
            const announced = Number(request.headers["content-length"] ?? 0)
            if (announced > limitBytes) return shared.tooLarge(limitBytes)
            const encoding = encodingOf(request.headers["content-encoding"])
            const makeDecoder = encoding === "identity" ? null : decoders.get(encoding)
            if (makeDecoder === undefined) {
              return Effect.fail(gatewayError(new EncodingUnsupported({ encoding: encoding.slice(0, 64) })))
            }
            // Reserved before any byte arrives: a client that announces a large body and sends it
            // slowly occupies the room as well.
            if (!shared.hold(share, announced)) return overloaded
            if (request.headers["expect"] !== undefined) sendContinue(request)
            return Effect.callback((resume) => {
              const incoming = NodeHttpServerRequest.toIncomingMessage(request)
              const reading = new BodyRead(shared, incoming, makeDecoder?.() ?? null, limitBytes, share, resume)
              return Effect.sync(() => reading.stop())
            })
          }
        })
      })
    )
}

/**
 * Tells a client that waits with its body to send it. The platform does so only for bodies that are
 * read through it, and Node answers 417 if the client expects anything else.
 */
const sendContinue = (request: HttpServerRequest.HttpServerRequest): void => {
  const { httpVersion } = NodeHttpServerRequest.toIncomingMessage(request)
  if (httpVersion === "1.1") NodeHttpServerRequest.toServerResponse(request).writeContinue()
}

const overloaded = Effect.fail(gatewayError(new Overloaded()))
const invalid = (code: string, message: string) =>
  Effect.fail(gatewayError(new InvalidRequest({ message, param: null, provider: null, code })))
const notUtf8 = invalid("invalid_encoding", "The body is not valid UTF-8.")
const garbled = (encoding: string) =>
  invalid("invalid_encoding", `The body is not what its content-encoding says: ${encoding}.`)

/** What the reads of all bodies share. */
interface SharedByReads {
  readonly deadlines: Deadlines
  /** Reserves room for more bytes. False when there is none. */
  readonly hold: (share: Share, bytes: number) => boolean
  readonly tooLarge: (limitBytes: number) => Effect.Effect<never, GatewayError>
  readonly tooSlow: Effect.Effect<never, GatewayError>
  readonly turns: Turns
}

/**
 * Reads one body. Resumes its request once, unless it is stopped before. The rest of a refused body
 * is drained after the response is sent.
 */
class BodyRead {
  readonly #shared: SharedByReads
  readonly #incoming: Incoming
  readonly #decoder: Transform | null
  readonly #source: Readable
  readonly #maxBytes: number
  readonly #share: Share
  readonly #resume: (body: Effect.Effect<Body, GatewayError>) => void
  readonly #shape = new JsonShape()
  readonly #chunks: Array<Buffer> = []
  readonly #limit: Deadline
  #bytes = 0

  constructor(
    shared: SharedByReads,
    incoming: Incoming,
    decoder: Transform | null,
    maxBytes: number,
    share: Share,
    resume: (body: Effect.Effect<Body, GatewayError>) => void
  ) {
    this.#shared = shared
    this.#incoming = incoming
    this.#decoder = decoder
    this.#source = decoder ?? incoming
    this.#maxBytes = maxBytes
    this.#share = share
    this.#resume = resume
    this.#limit = shared.deadlines.begin(this.#onLate)
    this.#source.on("data", this.#onData)
    this.#source.on("end", this.#onEnd)
    incoming.on("close", this.#onClosed)
    incoming.on("error", this.#onClosed)
    if (decoder !== null) {
      // Never removed: a decoder may still emit an error after it is destroyed.
      decoder.on("error", this.#onCorrupt)
      incoming.pipe(decoder)
    }
  }

  stop(): void {
    this.#source.off("data", this.#onData)
    this.#source.off("end", this.#onEnd)
    this.#incoming.off("close", this.#onClosed)
    this.#incoming.off("error", this.#onClosed)
    if (this.#decoder !== null) {
      this.#incoming.unpipe(this.#decoder)
      this.#decoder.destroy()
    }
    this.#limit.end()
  }

  #end(body: Effect.Effect<Body, GatewayError>): void {
    this.stop()
    this.#resume(body)
  }

  #refuse(body: Effect.Effect<Body, GatewayError>): void {
    this.#incoming.pause()
    this.#end(body)
  }

  #hasRoom(): boolean {
    const more = this.#bytes - this.#share.bodyBytes
    return more <= 0 || this.#shared.hold(this.#share, more)
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#bytes += chunk.length
    if (this.#bytes > this.#maxBytes) return this.#refuse(this.#shared.tooLarge(this.#maxBytes))
    if (!this.#hasRoom()) return this.#refuse(overloaded)
    const excess = this.#shape.take(chunk)
    if (excess !== null) return this.#refuse(Effect.succeed({ _tag: "TooComplex", excess }))
    this.#chunks.push(chunk)
  }

  readonly #onEnd = (): void => {
    const [first] = this.#chunks
    const bytes = this.#chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.#chunks)
    const shape = this.#shape
    this.#end(
      bytes.length > LARGE_BYTES
        ? Effect.flatMap(this.#shared.turns.next, () => bodyOf(bytes, shape))
        : bodyOf(bytes, shape)
    )
  }

  readonly #onLate = (): void => this.#refuse(this.#shared.tooSlow)

  readonly #onCorrupt = (): void => this.#refuse(garbled(encodingOf(this.#incoming.headers["content-encoding"])))

  readonly #onClosed = (): void => {
    // The body is complete; the decoder has not finished.
    if (this.#decoder !== null && this.#incoming.complete) return
    this.#end(Effect.interrupt)
  }
}

const bodyOf = (bytes: Buffer, shape: JsonShape): Effect.Effect<Body, GatewayError> => {
  if (!isUtf8(bytes)) return notUtf8
  const { hasLongNumber, longMembers } = shape
  const sent = longMembers.length === 0 || hasLongNumber ? null : { bytes, shape }
  const narrow = narrowJson(bytes)
  return Effect.succeed(
    narrow === null
      ? { _tag: "Text", text: textOf(bytes), hasLongNumber, sent }
      : { _tag: "Text", text: narrow, bytes, hasLongNumber, sent }
  )
}

/** The text of a body as its client wrote it. */
export const ownText = ({ bytes, text }: BodyText): string => (bytes === undefined ? text : textOf(bytes))

/** Decodes UTF-8, and removes a byte order mark. */
const textOf = (bytes: Buffer): string => {
  const text = bytes.toString("utf8")
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text
}

/** A copy of the request whose `text` is the text that was read. */
export const withText = (request: Request, text: string): Request => {
  const again: Request = Object.create(request)
  Object.defineProperty(again, "text", { value: Effect.succeed(text) })
  return again
}
