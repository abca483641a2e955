/**
 * Writes the vectors of an embeddings reply as JSON, in turns, because a reply may contain millions
 * of numbers. The bytes equal those of `JSON.stringify`.
 */
import { Effect } from "effect"
import { makeTurns } from "../../domain/runtime/Turns.ts"
import { type Embedded } from "../../gateway/chat/Embeddings.ts"

/**
 * Numbers written between two checks of the clock. Their float32 bytes are a whole number of base64
 * groups.
 */
const SLICE_NUMBERS = 3_072

type Format = "float" | "base64"

export const makeWriteList: Effect.Effect<(embedded: Embedded, format: Format) => Effect.Effect<Uint8Array>> =
  Effect.map(makeTurns, (turns) =>
    Effect.fnUntraced(function* ({ model, provider, usage, vectors }, format) {
      const [open, close, write] = format === "base64" ? ['"', '"', base64] : ["[", "]", numbers]
      const pieces: Array<Buffer> = []
      let text = '{"object":"list","data":['
      turns.begin()
      for (const [index, vector] of vectors.entries()) {
        text += `${index === 0 ? "" : ","}{"object":"embedding","index":${index},"embedding":${open}`
        for (let at = 0; at < vector.length; at += SLICE_NUMBERS) {
          if (turns.isOver()) {
            pieces.push(Buffer.from(text))
            text = ""
            yield* turns.next
          }
          text += write(vector.slice(at, at + SLICE_NUMBERS), at)
        }
        text += `${close}}`
      }
      const end = JSON.stringify({ model, provider, usage }).slice(1)
      pieces.push(Buffer.from(`${text}],${end}`))
      return pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces)
    })
  )

const numbers = (slice: ReadonlyArray<number>, at: number): string =>
  (at === 0 ? "" : ",") + JSON.stringify(slice).slice(1, -1)

/** Little-endian float32, as OpenAI's clients expect. */
const base64 = (slice: ReadonlyArray<number>): string => {
  const bytes = Buffer.alloc(slice.length * 4)
  slice.forEach((value, at) => bytes.writeFloatLE(value, at * 4))
  return bytes.toString("base64")
}
