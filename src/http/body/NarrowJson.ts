/**
 * Decodes the JSON of a body so that a few characters beyond Latin-1 do not make a text of two
 * bytes a character, which takes four times as long to decode and twice as long to parse. These
 * characters are written as escapes, so the text means the same, but has other positions.
 */
import { isAscii } from "node:buffer"

/** A shorter body is decoded as it is, and a longer one has no room. */
const FEWEST_BYTES = 1_024
const MOST_BYTES = 262_144
/**
 * At most this many escapes, and one for so many bytes. More of them take longer than they save.
 */
const MOST_ESCAPES = 64
const BYTES_PER_ESCAPE = 16

/** An escape has six characters, and four bytes of UTF-8 become two of them. */
const room = Buffer.alloc(MOST_BYTES + 12 * (MOST_ESCAPES + 1 + MOST_BYTES / BYTES_PER_ESCAPE))
const written = new DataView(room.buffer, room.byteOffset, room.length)
const hexDigits = Buffer.from("0123456789abcdef")

const BACKSLASH = 0x5c
const LETTER_U = 0x75
/** The first bits of the four bytes of a word. */
const BEYOND_ASCII = 0x80808080

/** Writes an escape, and returns the position after it. */
const escape = (code: number, to: number): number => {
  room[to] = BACKSLASH
  room[to + 1] = LETTER_U
  for (let digit = 0; digit < 4; digit++) room[to + 2 + digit] = hexDigits[(code >> (12 - 4 * digit)) & 15] ?? 0
  return to + 6
}

/**
 * JSON with the value of `bytes`, which are valid UTF-8; null: decode them as they are. Invalid
 * JSON stays invalid.
 */
export const narrowJson = (bytes: Buffer): string | null => {
  if (bytes.length < FEWEST_BYTES || bytes.length > MOST_BYTES) return null
  if (isAscii(bytes)) return bytes.toString("latin1")
  const read = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const lastWord = bytes.length - 4
  const next = (at: number) => (bytes[at] ?? 0) & 0x3f
  let [at, to, escapes] = [0, 0, 0]
  while (at < bytes.length) {
    while (at <= lastWord) {
      const word = read.getUint32(at, true)
      if ((word & BEYOND_ASCII) !== 0) break
      written.setUint32(to, word, true)
      at += 4
      to += 4
    }
    while (at < bytes.length && (bytes[at] ?? 0) < 0x80) room[to++] = bytes[at++] ?? 0
    for (let byte = bytes[at] ?? 0; byte >= 0x80; byte = bytes[at] ?? 0) {
      const length = byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4
      let point = byte & (0xff >> (length + 1))
      for (let more = 1; more < length; more++) point = (point << 6) | next(at + more)
      if (point <= 0xff) room[to++] = point
      else {
        // A backslash before it would become part of the escape.
        if (bytes[at - 1] === BACKSLASH || ++escapes > MOST_ESCAPES + at / BYTES_PER_ESCAPE) return null
        if (point > 0xffff) to = escape(0xd800 + ((point - 0x10000) >> 10), to)
        to = escape(point > 0xffff ? 0xdc00 + (point & 0x3ff) : point, to)
      }
      at += length
    }
  }
  return room.toString("latin1", 0, to)
}
