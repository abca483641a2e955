/** Writes protobuf messages into one buffer, which grows as needed. */

const INITIAL_BYTES = 16_384
/** UTF-16 units of a text that is copied here. A longer one is worth a call of Node's encoder. */
const SHORT = 64
/** The most bytes that a tag and a length take together. */
const HEAD = 16

const VARINT = 0
const EIGHT_BYTES = 1
const LENGTH = 2
const FOUR_BYTES = 5

/** Numbers of eight bytes, and these bytes: Buffer's own methods allocate. */
const double = new Float64Array(1)
const doubleBytes = new Uint8Array(double.buffer)
const whole = new BigUint64Array(1)
const wholeBytes = new Uint8Array(whole.buffer)

export class ProtobufWriter {
  #bytes = Buffer.allocUnsafeSlow(INITIAL_BYTES)
  #at = 0

  get length(): number {
    return this.#at
  }

  /** Returns what was written, and begins with an empty buffer. */
  take(): Buffer {
    const taken = this.#bytes.subarray(0, this.#at)
    this.#bytes = Buffer.allocUnsafeSlow(INITIAL_BYTES)
    this.#at = 0
    return taken
  }

  /** A whole number of any sign. */
  integer(field: number, value: number): void {
    this.#room(HEAD)
    this.#tag(field, VARINT)
    if (value >= 0) return this.#varint(value)
    let rest = BigInt.asUintN(64, BigInt(value))
    for (; rest > 0x7fn; rest >>= 7n) this.#bytes[this.#at++] = Number(rest & 0x7fn) | 0x80
    this.#bytes[this.#at++] = Number(rest)
  }

  double(field: number, value: number): void {
    this.#room(HEAD)
    this.#tag(field, EIGHT_BYTES)
    double[0] = value
    this.#eight(doubleBytes)
  }

  fixed64(field: number, value: bigint): void {
    this.#room(HEAD)
    this.#tag(field, EIGHT_BYTES)
    whole[0] = value
    this.#eight(wholeBytes)
  }

  fixed32(field: number, value: number): void {
    this.#room(HEAD)
    this.#tag(field, FOUR_BYTES)
    this.#at = this.#bytes.writeUInt32LE(value, this.#at)
  }

  text(field: number, text: string): void {
    const { length } = text
    this.#room(HEAD + 3 * Math.min(length, SHORT))
    this.#tag(field, LENGTH)
    if (length < SHORT) {
      const from = this.#at
      let at = from + 1
      for (let index = 0; index < length; index++) {
        const code = text.charCodeAt(index)
        if (code > 0x7f) break
        this.#bytes[at++] = code
      }
      if (at - from - 1 === length) {
        this.#bytes[from] = length
        this.#at = at
        return
      }
    }
    const size = Buffer.byteLength(text)
    this.#varint(size)
    this.#room(size)
    this.#at += this.#bytes.write(text, this.#at)
  }

  /** Bytes in hexadecimal digits. */
  hex(field: number, digits: string): void {
    this.#room(HEAD + digits.length)
    this.#tag(field, LENGTH)
    this.#varint(digits.length / 2)
    this.#at += this.#bytes.write(digits, this.#at, "hex")
  }

  /** Encoded fields, unchanged. */
  raw(fields: Uint8Array): void {
    this.#room(fields.length)
    this.#bytes.set(fields, this.#at)
    this.#at += fields.length
  }

  /** Begins a message. What is written until `end` is inside it. */
  begin(field: number): number {
    this.#room(HEAD)
    this.#tag(field, LENGTH)
    return ++this.#at
  }

  /** `start`: the result of `begin`. */
  end(start: number): void {
    const to = this.#at
    const size = to - start
    let lengthBytes = 1
    for (let rest = size; rest > 0x7f; rest = Math.floor(rest / 0x80)) lengthBytes++
    if (lengthBytes > 1) {
      this.#room(HEAD)
      this.#bytes.copyWithin(start + lengthBytes - 1, start, to)
    }
    this.#at = start - 1
    this.#varint(size)
    this.#at = to + lengthBytes - 1
  }

  #eight(bytes: Uint8Array): void {
    for (let index = 0; index < 8; index++) this.#bytes[this.#at + index] = bytes[index] ?? 0
    this.#at += 8
  }

  #tag(field: number, type: number): void {
    this.#varint(field * 8 + type)
  }

  #varint(value: number): void {
    let rest = value
    for (; rest > 0x7f; rest = Math.floor(rest / 0x80)) this.#bytes[this.#at++] = (rest % 0x80) | 0x80
    this.#bytes[this.#at++] = rest
  }

  #room(size: number): void {
    if (this.#at + size <= this.#bytes.length) return
    const grown = Buffer.allocUnsafeSlow(Math.max(this.#bytes.length * 2, this.#at + size))
    this.#bytes.copy(grown, 0, 0, this.#at)
    this.#bytes = grown
  }
}
