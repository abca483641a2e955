/**
 * One connection to the embedded database, as the byte stream that a Postgres client expects. A write ends when its statements have
 * run, so that the client feels the engine's pace.
 */
import { Duplex } from "node:stream"

export class PgliteDuplex extends Duplex {
  readonly #send: (bytes: Uint8Array) => void
  readonly #release: () => void
  #onWritten: (() => void) | null = null

  /** `send` passes bytes to the engine, which answers with `written`; `release` is called once, when the connection is over. */
  constructor(send: (bytes: Uint8Array) => void, release: () => void) {
    super()
    this.#send = send
    this.#release = release
  }

  /** The engine has dealt with the bytes of the last write. */
  written(): void {
    const done = this.#onWritten
    this.#onWritten = null
    done?.()
  }

  override _read(): void {
    // Replies come when they come; they are as large as the rows that a statement asks for.
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
