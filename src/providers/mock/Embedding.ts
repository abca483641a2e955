/**
 * The mock's embeddings: unit vectors that depend only on the text. Numbers have float32 precision,
 * so that base64 is lossless.
 */

import { Effect } from "effect"

/** Numbers computed before yielding to other fibers. */
const TURN_NUMBERS = 32_768
/** UTF-16 code units hashed before yielding to other fibers. */
const TURN_CHARACTERS = 1_048_576

/** One vector per text. Yields to other fibers in between. */
export const embedTexts = Effect.fnUntraced(function* (texts: ReadonlyArray<string>, dimensions: number) {
  const vectors: Array<ReadonlyArray<number>> = []
  let made = 0
  for (const text of texts) {
    vectors.push(vectorFrom(yield* hash(text), dimensions))
    made += dimensions
    if (made < TURN_NUMBERS) continue
    made = 0
    yield* Effect.yieldNow
  }
  return vectors
})

/**
 * Deterministic. A longer vector of a seed does not start with the numbers of a shorter one,
 * because each is scaled to length 1.
 */
const vectorFrom = (seed: number, dimensions: number): ReadonlyArray<number> => {
  const next = randomFrom(seed)
  const raw = Array.from({ length: dimensions }, () => next() * 2 - 1)
  const length = Math.hypot(...raw) || 1
  return raw.map((value) => Math.fround(value / length))
}

/** FNV-1a over UTF-16 code units, 32 bits. */
const hash = Effect.fnUntraced(function* (text: string) {
  let state = 0x811c9dc5
  for (let start = 0; start < text.length; start += TURN_CHARACTERS) {
    if (start > 0) yield* Effect.yieldNow
    const end = Math.min(start + TURN_CHARACTERS, text.length)
    for (let at = start; at < end; at++) state = Math.imul(state ^ text.charCodeAt(at), 0x01000193)
  }
  return state >>> 0
})

/** Mulberry32: numbers in [0, 1) from a seed of 32 bits. */
const randomFrom = (seed: number) => {
  let state = seed
  return (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
