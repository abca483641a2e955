/**
 * Splits the bytes of a Postgres client into whole protocol messages. The first message of a
 * session has a length and no type, each later one a type byte and a length. The bytes of an
 * incomplete message are kept until the rest arrives.
 */
const CANCEL_REQUEST = 80_877_102
const SSL_REQUEST = 80_877_103
const TERMINATE = 0x58

/**
 * What a chunk of whole messages asks for. `Startup` opens a session. `Cancel` and `Ssl` are not
 * part of one.
 */
export type ClientMessages =
  | { readonly _tag: "None" }
  | { readonly _tag: "Startup" | "Messages"; readonly bytes: Uint8Array }
  | { readonly _tag: "Cancel" | "Ssl" | "Terminate" }

export class PgMessages {
  #rest: Buffer = Buffer.alloc(0)
  #started = false

  /** Adds a chunk and returns the whole messages available. A startup packet is returned alone. */
  push(chunk: Uint8Array): ClientMessages {
    this.#rest = this.#rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([this.#rest, chunk])
    return this.#started ? this.#takeMessages() : this.#takeFirst()
  }

  #takeFirst(): ClientMessages {
    if (this.#rest.length < 8 || this.#rest.length < this.#rest.readInt32BE(0)) return { _tag: "None" }
    const bytes = this.#take(this.#rest.readInt32BE(0))
    const code = bytes.readInt32BE(4)
    if (code === CANCEL_REQUEST) return { _tag: "Cancel" }
    if (code === SSL_REQUEST) return { _tag: "Ssl" }
    this.#started = true
    return { _tag: "Startup", bytes }
  }

  #takeMessages(): ClientMessages {
    let end = 0
    while (this.#rest.length - end >= 5) {
      if (this.#rest[end] === TERMINATE) return end === 0 ? { _tag: "Terminate" } : this.#messages(end)
      const next = end + 1 + this.#rest.readInt32BE(end + 1)
      if (next > this.#rest.length) break
      end = next
    }
    return end === 0 ? { _tag: "None" } : this.#messages(end)
  }

  #messages(length: number): ClientMessages {
    return { _tag: "Messages", bytes: this.#take(length) }
  }

  #take(length: number): Buffer {
    const bytes = this.#rest.subarray(0, length)
    this.#rest = this.#rest.subarray(length)
    return bytes
  }
}
