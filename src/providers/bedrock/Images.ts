/**
 * Images that a model makes, in OpenRouter's form. In a stream an image comes in pieces of base64,
 * and is passed on at the end of its block.
 */
import { isJsonRecord, type JsonRecord, stringOf } from "../wire/Json.ts"

/** Largest image of a stream, in bytes. */
const IMAGE_LIMIT_BYTES = 24 * 1024 * 1024

export const imageOf = (format: unknown, base64: string, index: number): JsonRecord => ({
  type: "image_url",
  image_url: { url: `data:image/${stringOf(format) ?? "png"};base64,${base64}` },
  index
})

/** The images of a whole reply's blocks. */
export const imagesOf = (blocks: ReadonlyArray<JsonRecord>): ReadonlyArray<JsonRecord> =>
  blocks
    .flatMap(({ image }) => {
      const base64 = isJsonRecord(image) ? bytesOf(image) : null
      return isJsonRecord(image) && base64 !== null ? [{ format: image["format"], base64 }] : []
    })
    .map(({ base64, format }, index) => imageOf(format, base64, index))

/** The base64 of an image or a piece of one, or null. */
export const bytesOf = ({ source }: JsonRecord): string | null =>
  isJsonRecord(source) ? stringOf(source["bytes"]) : null

/** One image of a stream. */
export class ImagePieces {
  readonly #format: unknown
  readonly #pieces: Array<Buffer> = []
  #size = 0

  constructor(format: unknown) {
    this.#format = format
  }

  /** False if the image is too large. */
  add(base64: string): boolean {
    const piece = Buffer.from(base64, "base64")
    this.#size += piece.length
    if (this.#size > IMAGE_LIMIT_BYTES) return false
    this.#pieces.push(piece)
    return true
  }

  image(index: number): JsonRecord {
    return imageOf(this.#format, Buffer.concat(this.#pieces).toString("base64"), index)
  }
}
