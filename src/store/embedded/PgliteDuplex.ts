/**
 * One connection to the embedded database, as the byte stream that a Postgres client expects. A
 * write completes when its statements have run, which applies the engine's backpressure to the
 * client.
 */
import { Duplex } from "node:stream"

export class PgliteDuplex extends Duplex {
  readonly #send: (bytes: Uint8Array) => void
  readonly #release: () => void
  #onWritten: (() => void) | null = null

  /**
   * `send` passes bytes to the engine, which then calls `written`. `release` is called once, when
   * the connection is closed.
   */
  constructor(send: (bytes: Uint8Array) => void, release: () => void) {
    super()
    this.#send = send
    this.#release = release
  }

  /** Completes the last write: the engine has processed its bytes. */
  written(): void {
    const done = this.#onWritten
    this.#onWritten = null
    done?.()
  }

  override _read(): void {
    // Replies are pushed as they arrive, without backpressure: their size is that of the requested
    // rows.
  }

  override _write(chunk: Uint8Array, _encoding: BufferEncoding, done: () => void): void {
    this.#onWritten = done
    this.#send(chunk)
  }

  override _final(done: () => void): void {
    this.push(null)
    done()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#release()
    done(error)
  }
}
