/**
 * One HTTP exchange, as a state machine fed by undici. It holds the unread bytes, the one waiting
 * reader and the running time limit. It stops reading from the socket while more than
 * `HIGH_WATER_BYTES` are unread, decodes content encodings on the fly, and reports failures as
 * provider reasons without addresses, keys or content.
 *
 * Its time limits use Node's timers instead of `Clock`: they guard real sockets, and
 * `Effect.timeout` costs 6 µs a packet.
 */
// @effect-diagnostics globalTimers:off -- limits of real sockets: see above
import { type IncomingHttpHeaders } from "node:http"
import { type Transform } from "node:stream"
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from "node:zlib"
import { type Dispatcher } from "undici"
import { headerOf } from "./Headers.ts"
import { Cut, Malformed, TimedOut, TooLarge, Unreachable } from "../Provider.ts"

export type HttpExchangeFailure = Unreachable | TimedOut | Malformed | TooLarge | Cut

/** What a reader waits for: status line and headers; unread bytes or the end; the end. */
type Awaited = "head" | "data" | "end"
type Phase = TimedOut["phase"]

const HIGH_WATER_BYTES = 65_536
/**
 * Time in which a reply that is complete but for its end must end for its connection to be reused.
 */
const DRAIN_MS = 1_000
/**
 * A connection closed before the request was sent fails within this time. After it, the provider
 * may already be processing the request.
 */
const STALE_MS = 1_000
const decoders: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress
}

export class HttpExchange implements Dispatcher.DispatchHandler {
  status = 0
  headers: IncomingHttpHeaders = {}
  failure: HttpExchangeFailure | null = null
  ended = false
  /**
   * True if the kept connection was closed by the server just as the request was sent. Such a
   * request can be sent again.
   */
  isStale = false

  #controller: Dispatcher.DispatchController | null = null
  #startedAtMs = 0
  #decoder: Transform | null = null
  #unread: Array<Buffer> = []
  #unreadBytes = 0
  #limitBytes = Number.POSITIVE_INFINITY
  #paused = false
  #aborted = false
  #draining = false
  #drainTimer: NodeJS.Timeout | undefined
  #awaited: Awaited | null = null
  #wake: (() => void) | null = null
  #wakesSoon = false
  #timer: NodeJS.Timeout | undefined
  #phase: Phase = "first_byte"
  #idleMs = 0
  #byMs = Number.POSITIVE_INFINITY

  /**
   * Calls `wake` once, when the awaited data is there or the exchange failed; immediately if it
   * already is. When `limitMs` expires, the exchange fails with `TimedOut` of `phase`. Only one
   * waiter at a time.
   */
  await(awaited: Awaited, limitMs: number, phase: Phase, wake: () => void): void {
    if (this.failure !== null || this.#isThere(awaited)) {
      clearTimeout(this.#timer)
      return wake()
    }
    this.#awaited = awaited
    this.#wake = wake
    this.#phase = phase
    this.#startTimer(limitMs)
    if (awaited === "end") this.#resume()
  }

  /**
   * Waits for the whole body, of at most `limitBytes`. Packets may be `idleMs` apart. The end must
   * come by `byMs`, in the time of `performance.now()`.
   */
  collect(
    limitBytes: number,
    limitMs: number,
    phase: Phase,
    idleMs: number,
    wake: () => void,
    byMs = Number.POSITIVE_INFINITY
  ): void {
    this.#limitBytes = limitBytes
    this.#idleMs = idleMs
    this.#byMs = byMs
    this.await("end", limitMs, phase, wake)
  }

  /**
   * The bytes received since the last call. Bytes received before a failure can still be taken
   * after it.
   */
  take(): ReadonlyArray<Buffer> {
    const taken = this.#unread
    this.#unread = []
    this.#unreadBytes = 0
    this.#resume()
    return taken
  }

  /**
   * Discards the rest of a body whose end is near, so that its connection can be reused. `abort`
   * does nothing after this.
   */
  drain(): void {
    if (this.ended || this.failure !== null) return
    this.#draining = true
    this.take()
    clearTimeout(this.#timer)
    this.#drainTimer = setTimeout(() => this.#controller?.abort(new Error("given up")), DRAIN_MS).unref()
  }

  /**
   * Aborts the exchange: closes the socket unless the reply is complete. Safe to call at any time.
   */
  abort(): void {
    if (this.#draining) return
    this.#aborted = true
    this.#wake = null
    clearTimeout(this.#timer)
    this.#decoder?.destroy()
    if (!this.ended) this.#controller?.abort(new Error("given up"))
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    this.#startedAtMs = performance.now()
    if (this.#aborted || this.failure !== null) controller.abort(new Error("given up"))
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return
    this.status = status
    this.headers = headers
    const encoding = headerOf(headers, "content-encoding")?.trim().toLowerCase() ?? ""
    if (encoding !== "" && encoding !== "identity") this.#decode(encoding)
    this.#notify("head")
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#decoder === null) return this.#push(chunk)
    if (!this.#decoder.write(chunk)) controller.pause()
  }

  onResponseEnd(): void {
    if (this.#decoder === null) this.#end()
    else this.#decoder.end()
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#decoder?.destroy()
    this.isStale = this.status === 0 && wasUsed(error) && performance.now() - this.#startedAtMs < STALE_MS
    this.#fail(reasonOf(error, this.status !== 0))
  }

  #isThere(awaited: Awaited): boolean {
    if (this.ended) return true
    return awaited === "head" ? this.status !== 0 : awaited === "data" && this.#unread.length > 0
  }

  #push(chunk: Buffer): void {
    if (this.#draining) return
    this.#unread.push(chunk)
    this.#unreadBytes += chunk.length
    if (this.#awaited === "end") {
      if (this.#unreadBytes > this.#limitBytes) return this.#fail(new TooLarge({ limitBytes: this.#limitBytes }))
      // The timer of the whole time runs on.
      if (this.#phase === "total") return
      const leftMs = Math.max(1, this.#byMs - performance.now())
      this.#phase = leftMs < this.#idleMs ? "total" : "idle"
      this.#startTimer(Math.min(leftMs, this.#idleMs))
      return
    }
    if (this.#unreadBytes >= HIGH_WATER_BYTES) this.#pause()
    this.#notify("data")
  }

  #end(): void {
    this.ended = true
    clearTimeout(this.#drainTimer)
    this.#notify("end")
  }

  #fail(failure: HttpExchangeFailure): void {
    if (this.failure !== null || this.ended) return
    this.failure = failure
    this.#controller?.abort(new Error("failed"))
    this.#decoder?.destroy()
    this.#settle()
  }

  #notify(event: Awaited): void {
    if (event === "data") this.#wakeForData()
    else if (event === "end" || event === this.#awaited) this.#settle()
  }

  /**
   * Wakes the reader once per tick. undici emits each HTTP chunk separately, and providers send one
   * chunk per token, so one read of the socket can bring many.
   */
  #wakeForData(): void {
    if (this.#wakesSoon || this.#awaited !== "data") return
    this.#wakesSoon = true
    process.nextTick(() => {
      this.#wakesSoon = false
      if (this.#awaited === "data" && this.#isThere("data")) this.#settle()
    })
  }

  /** Starts the time limit of a wait. */
  #startTimer(limitMs: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#fail(new TimedOut({ phase: this.#phase })), limitMs)
  }

  #settle(): void {
    const wake = this.#wake
    clearTimeout(this.#timer)
    this.#awaited = null
    this.#wake = null
    wake?.()
  }

  #pause(): void {
    this.#paused = true
    if (this.#decoder === null) this.#controller?.pause()
    else this.#decoder.pause()
  }

  #resume(): void {
    if (!this.#paused) return
    this.#paused = false
    if (this.#decoder === null) this.#controller?.resume()
    else this.#decoder.resume()
  }

  #decode(encoding: string): void {
    const make = decoders[encoding]
    if (make === undefined) return this.#fail(new Malformed({ detail: "unknown content encoding" }))
    this.#decoder = make()
    this.#decoder.on("data", (chunk: Buffer) => this.#push(chunk))
    this.#decoder.on("drain", () => this.#controller?.resume())
    this.#decoder.on("end", () => this.#end())
    this.#decoder.on("error", () => this.#fail(new Malformed({ detail: "broken content encoding" })))
  }
}

/** True if bytes were read from the closed connection before: see Connector.ts. */
const wasUsed = (error: Error): boolean =>
  "socket" in error &&
  typeof error.socket === "object" &&
  error.socket !== null &&
  "bytesRead" in error.socket &&
  error.socket.bytesRead !== 0 &&
  // With "bad response" the bytes read may be the very ones that undici could not parse.
  error.message !== "bad response"

/**
 * Maps errors of Node and undici to reasons. Only their code is kept, because their messages
 * contain addresses.
 */
const reasonOf = (error: Error, answered: boolean): HttpExchangeFailure => {
  const code = "code" in error && typeof error.code === "string" ? error.code : error.name
  if (code === "UND_ERR_CONNECT_TIMEOUT") return new TimedOut({ phase: "connect" })
  if (code.startsWith("HPE_") || error.name === "HTTPParserError") return new Malformed({ detail: `not HTTP: ${code}` })
  return answered ? new Cut({ detail: code }) : new Unreachable({ detail: code })
}
