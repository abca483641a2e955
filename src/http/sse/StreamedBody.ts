/**
 * The body of an answer that is written piece by piece, for as long as it takes. Once its head is out, a piece goes onto the socket at once and
 * as one text, framed here as HTTP/1.1 has it: Node's response makes three pieces of each, and gathers them until the turn ends.
 * The response still writes the head, what comes first, and the end.
 */
import { Effect } from "effect"
import { ServerResponse } from "node:http"
import { type Socket } from "node:net"
import { type Writable } from "node:stream"

export class StreamedBody {
  readonly #response: Writable
  #begun = false
  /** What took a piece and has no room for more. */
  #full: Writable | null = null

  constructor(response: Writable) {
    this.#response = response
  }

  /** Whether what was written waits for the client to read it. */
  get isFull(): boolean {
    return this.#full?.writableNeedDrain === true
  }

  /** Takes a piece, and answers whether there is room for another. */
  write(text: string): boolean {
    if (text === "") return true
    const socket = this.#begun ? this.#socket : null
    if (socket === null) return this.writeTogether(text)
    const bytes = Buffer.byteLength(text)
    const hasRoom = socket.write(
      `${bytes.toString(16)}\r\n${text}\r\n`,
      // The same bytes, without a look at each character.
      bytes === text.length ? "latin1" : "utf8"
    )
    this.#full = hasRoom ? null : socket
    return hasRoom
  }

  /** Takes a piece that goes out in one with what is written in the same turn, the end of the response included. */
  writeTogether(text: string): boolean {
    this.#begun = true
    const hasRoom = this.#response.write(text)
    this.#full = hasRoom ? null : this.#response
    return hasRoom
  }

  /** Waits until there is room. */
  readonly drained: Effect.Effect<void> = Effect.callback((resume) => {
    const full = this.#full
    if (full === null) return resume(Effect.void)
    const onDrain = () => resume(Effect.void)
    full.once("drain", onDrain)
    return Effect.sync(() => full.off("drain", onDrain))
  })

  /** Ends the connection, as if the client had left. */
  cut(): void {
    this.#response.destroy()
  }

  /**
   * The socket, where it takes nothing but this body's chunks, in the order in which they are written; null: only the response knows where a
   * chunk goes, when, and in what form.
   */
  get #socket(): Socket | null {
    const response = this.#response
    if (!(response instanceof ServerResponse) || !response.chunkedEncoding) return null
    // What the response gathers goes out when it is told to; a chunk written past it would overtake.
    if (response.writableCorked > 0) return null
    return response.socket?.destroyed === false ? response.socket : null
  }
}
