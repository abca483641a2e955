/** Notices in memory, for tests and for trying things out: the same promises as the tables, and forgotten with the process. */
import { Effect } from "effect"
import type { BudgetMark, DeadLetter, Notices } from "./Notices.ts"

export const makeNoticesMemory = (): Notices["Service"] => {
  const letters = new Map<string, DeadLetter>()
  const marks = new Map<string, BudgetMark>()

  return {
    bury: (letter) => Effect.sync(() => void letters.set(letter.id, letter)),

    buried: ({ cursor, limit }) =>
      Effect.sync(() => {
        const found = [...letters.values()]
          .filter(({ id }) => cursor === null || id < cursor)
          .toSorted((a, b) => (a.id < b.id ? 1 : -1))
        const page = found.slice(0, limit)
        return { letters: page, nextCursor: found.length > limit ? (page.at(-1)?.id ?? null) : null }
      }),

    mark: (mark) =>
      Effect.sync(() => {
        const key = `${mark.keyId} ${mark.month} ${mark.percent} ${mark.capNano}`
        if (marks.has(key)) return false
        marks.set(key, mark)
        return true
      }),

    forget: (beforeMs, month) =>
      Effect.sync(() => {
        for (const letter of letters.values()) if (letter.failedAtMs < beforeMs) letters.delete(letter.id)
        for (const [key, mark] of marks) if (mark.month < month) marks.delete(key)
      })
  }
}
