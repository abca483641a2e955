/** Dead letters in memory, for tests and trials: lost when the process ends. */
import { Effect, Layer, Option } from "effect"
import { type DeadLetter, DeadLetterStore } from "./DeadLetterStore.ts"

/** Each build starts empty. */
export const layer = Layer.sync(DeadLetterStore, () => {
  const letters = new Map<string, DeadLetter>()
  return {
    add: (letter) => Effect.sync(() => void letters.set(letter.id, letter)),

    get: (id) => Effect.sync(() => Option.fromUndefinedOr(letters.get(id))),

    markRetried: (id, retriedAtMs) =>
      Effect.sync(() => {
        const letter = letters.get(id)
        if (letter !== undefined) letters.set(id, { ...letter, retriedAtMs })
      }),

    list: ({ cursor, limit }) =>
      Effect.sync(() => {
        const found = [...letters.values()]
          .filter(({ id, retriedAtMs }) => retriedAtMs === null && (cursor === null || id < cursor))
          .toSorted((a, b) => (a.id < b.id ? 1 : -1))
        const page = found.slice(0, limit)
        return { letters: page, nextCursor: found.length > limit ? (page.at(-1)?.id ?? null) : null }
      }),

    deleteBefore: (failedAtMs) =>
      Effect.sync(() => {
        for (const letter of letters.values()) if (letter.failedAtMs < failedAtMs) letters.delete(letter.id)
      })
  }
})
