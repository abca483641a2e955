/**
 * Parses Amazon's binary event stream (`application/vnd.amazon.eventstream`): takes packets,
 * returns each whole event as the JSON text `{"<event type>": <payload>}`, as Amazon's clients show
 * them. Exceptions have the same form under their own type. Both checksums of every message are
 * verified. A message above 1 MiB or with a wrong checksum fails the stream, because the data after
 * it cannot be trusted. A message cut by the end of the stream is dropped.
 *
 * Format of a message: total length, length of the headers, checksum of these eight bytes, headers,
 * payload, checksum of everything before. Integers are unsigned, 32 bits, big-endian. Checksums are
 * CRC-32.
 */
import { crc32 } from "node:zlib"
import { Malformed, TooLarge } from "../Provider.ts"

const MESSAGE_LIMIT_BYTES = 1024 * 1024
const PRELUDE_BYTES = 12
const CHECKSUM_BYTES = 4
/** Length of a header's value, by its type. Texts and blobs (7, 6) carry their length. */
const fixedBytes: Readonly<Record<number, number>> = { 0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16 }
const BLOB = 6
const TEXT = 7

export class BedrockFrames {
  #pieces: Array<Buffer> = []
  #bytes = 0
  /** Bytes needed to continue with the next message, as far as known. */
  #needed = PRELUDE_BYTES

  /** The events that `chunk` completes. */
  feed(chunk: Buffer): ReadonlyArray<string> | Malformed | TooLarge {
    this.#pieces.push(chunk)
    this.#bytes += chunk.length
    if (this.#bytes < this.#needed) return []
    const events: Array<string> = []
    let rest = this.#pieces.length === 1 ? chunk : Buffer.concat(this.#pieces, this.#bytes)
    this.#needed = PRELUDE_BYTES
    while (rest.length >= PRELUDE_BYTES) {
      const length = lengthOf(rest)
      if (typeof length !== "number") return length
      if (rest.length < length) {
        this.#needed = length
        break
      }
      const event = eventOf(rest.subarray(0, length))
      if (event instanceof Malformed) return event
      if (event !== null) events.push(event)
      rest = rest.subarray(length)
    }
    this.#pieces = rest.length === 0 ? [] : [rest]
    this.#bytes = rest.length
    return events
  }

  end(): ReadonlyArray<string> {
    return []
  }
}

const lengthOf = (bytes: Buffer): number | Malformed | TooLarge => {
  if (crc32(bytes.subarray(0, 8)) !== bytes.readUInt32BE(8)) return new Malformed({ detail: "bad prelude checksum" })
  const length = bytes.readUInt32BE(0)
  const headers = bytes.readUInt32BE(4)
  if (length > MESSAGE_LIMIT_BYTES) return new TooLarge({ limitBytes: MESSAGE_LIMIT_BYTES })
  return length < PRELUDE_BYTES + headers + CHECKSUM_BYTES ? new Malformed({ detail: "bad message length" }) : length
}

/** Null for a message that is not an event, such as an initial response. */
const eventOf = (message: Buffer): string | Malformed | null => {
  const end = message.length - CHECKSUM_BYTES
  if (crc32(message.subarray(0, end)) !== message.readUInt32BE(end))
    return new Malformed({ detail: "bad message checksum" })
  const start = PRELUDE_BYTES + message.readUInt32BE(4)
  const headers = headersOf(message.subarray(PRELUDE_BYTES, start))
  if (headers === null) return new Malformed({ detail: "bad message headers" })
  const kind = headers.get(":message-type")
  if (kind === "error") {
    const [code, text] = [headers.get(":error-code"), headers.get(":error-message")]
    return JSON.stringify({ [code ?? "error"]: { message: text ?? "" } })
  }
  const type = kind === "exception" ? headers.get(":exception-type") : headers.get(":event-type")
  return type === undefined || type === "initial-response"
    ? null
    : `{${JSON.stringify(type)}:${message.toString("utf8", start, end) || "{}"}}`
}

/** The text headers, or null if the lengths are inconsistent. */
const headersOf = (bytes: Buffer): ReadonlyMap<string, string> | null => {
  const headers = new Map<string, string>()
  let at = 0
  while (at < bytes.length) {
    const nameEnd = at + 1 + bytes.readUInt8(at)
    if (nameEnd >= bytes.length) return null
    const name = bytes.toString("utf8", at + 1, nameEnd)
    const type = bytes.readUInt8(nameEnd)
    at = nameEnd + 1
    let size = fixedBytes[type]
    if (type === TEXT || type === BLOB) {
      if (at + 2 > bytes.length) return null
      size = bytes.readUInt16BE(at)
      at += 2
    }
    if (size === undefined || at + size > bytes.length) return null
    if (type === TEXT) headers.set(name, bytes.toString("utf8", at, at + size))
    at += size
  }
  return headers
}
