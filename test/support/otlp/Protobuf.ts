/**
 * Reads protobuf without a schema: fields by their number, each with all its values, bytes
 * unchanged.
 */

export type Value = bigint | number | Uint8Array
export type Message = ReadonlyMap<number, ReadonlyArray<Value>>

export const readMessage = (bytes: Uint8Array): Message => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const fields = new Map<number, Array<Value>>()
  let at = 0
  const varint = (): bigint => {
    let value = 0n
    for (let shift = 0n; ; shift += 7n) {
      const byte = BigInt(view.getUint8(at++))
      value |= (byte & 0x7fn) << shift
      if (byte < 0x80n) return value
    }
  }
  const take = (length: number): number => {
    at += length
    return at - length
  }
  const rest = (): Uint8Array => {
    const length = Number(varint())
    return bytes.subarray(take(length), at)
  }
  while (at < bytes.length) {
    const tag = Number(varint())
    const kind = tag & 7
    const value =
      kind === 0
        ? varint()
        : kind === 1
          ? view.getBigUint64(take(8), true)
          : kind === 5
            ? view.getUint32(take(4), true)
            : rest()
    const field = tag >> 3
    fields.set(field, [...(fields.get(field) ?? []), value])
  }
  return fields
}

export const messagesOf = (message: Message, field: number): ReadonlyArray<Message> =>
  (message.get(field) ?? []).flatMap((value) => (value instanceof Uint8Array ? [readMessage(value)] : []))

export const textOf = (message: Message, field: number): string => {
  const [value] = message.get(field) ?? []
  return value instanceof Uint8Array ? new TextDecoder().decode(value) : ""
}

export const hexOf = (message: Message, field: number): string => {
  const [value] = message.get(field) ?? []
  return value instanceof Uint8Array ? Buffer.from(value).toString("hex") : ""
}

export const numberOf = (message: Message, field: number): number => Number(message.get(field)?.[0] ?? 0)

/** A `double`, which is encoded in eight bytes. */
export const doubleOf = (value: Value): number => {
  const view = new DataView(new ArrayBuffer(8))
  view.setBigUint64(0, BigInt(typeof value === "bigint" ? value : 0), true)
  return view.getFloat64(0, true)
}
