/** Images from files, as requests carry them. Their kind is read from the first bytes. */
import { Effect, FileSystem } from "effect"
import { CommandFailed } from "../Failure.ts"
import type { Image } from "./Turns.ts"

const MOST_BYTES = 20 * 1024 * 1024

const kinds: ReadonlyArray<readonly [mediaType: string, begins: RegExp]> = [
  ["image/png", /^\x89PNG/],
  ["image/jpeg", /^\xff\xd8\xff/],
  ["image/gif", /^GIF8/],
  ["image/webp", /^RIFF[\s\S]{4}WEBP/]
]

export const imageOf = Effect.fnUntraced(function* (file: string) {
  const files = yield* FileSystem.FileSystem
  const refused = (why: string) => new CommandFailed({ code: "usage", message: `The image ${file} ${why}.` })
  const bytes = yield* Effect.mapError(files.readFile(file), () => refused("cannot be read"))
  if (bytes.byteLength > MOST_BYTES) return yield* refused("has more than 20 MB")
  const content = Buffer.from(bytes)
  const start = content.subarray(0, 12).toString("latin1")
  const kind = kinds.find(([, begins]) => begins.test(start))
  if (kind === undefined) return yield* refused("is none of PNG, JPEG, GIF and WebP")
  return { mediaType: kind[0], base64: content.toString("base64") } satisfies Image
})
