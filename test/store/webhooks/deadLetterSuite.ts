/** The guarantees of every `DeadLetterStore`, in memory or in a database. */
import { assert, describe, type Vitest } from "@effect/vitest"
import { Effect, Option } from "effect"
import { type DeadLetter, DeadLetterStore } from "../../../src/store/webhooks/DeadLetterStore.ts"

const T0 = Date.UTC(2026, 10, 21)

const letter = (id: string, overrides: Partial<DeadLetter> = {}): DeadLetter => ({
  id,
  eventId: "evt_1",
  type: "key.created",
  url: "https://hooks.example.com/a",
  body: `{"text":"“quoted” \\u0000"}`,
  attempts: 11,
  lastError: "status 500",
  createdAtMs: T0,
  failedAtMs: T0,
  retriedAtMs: null,
  ...overrides
})

export const deadLetterSuite = (it: Vitest.MethodsNonLive<DeadLetterStore>): void => {
  describe("DeadLetterStore", () => {
    it.effect("lists dead letters unchanged, newest first, in pages, until they are deleted", () =>
      Effect.gen(function* () {
        const store = yield* DeadLetterStore
        const letters = ["dlv_3", "dlv_1", "dlv_2"].map((id) => letter(id))
        for (const one of letters) yield* store.add(one)
        yield* store.add(letter("dlv_2", { attempts: 1, retriedAtMs: T0 }))
        yield* store.add(letter("dlv_2"))
        const first = yield* store.list({ limit: 2, cursor: null })
        assert.deepStrictEqual(first, { letters: [letter("dlv_3"), letter("dlv_2")], nextCursor: "dlv_2" })
        const last = yield* store.list({ limit: 2, cursor: first.nextCursor })
        assert.deepStrictEqual(last, { letters: [letter("dlv_1")], nextCursor: null })

        yield* store.markRetried("dlv_1", T0 + 2)
        assert.deepStrictEqual(yield* store.get("dlv_1"), Option.some(letter("dlv_1", { retriedAtMs: T0 + 2 })))
        assert.deepStrictEqual(yield* store.get("dlv_9"), Option.none())
        const open = yield* store.list({ limit: 3, cursor: null })
        assert.deepStrictEqual(open, { letters: [letter("dlv_3"), letter("dlv_2")], nextCursor: null })

        yield* store.add(letter("dlv_4", { failedAtMs: T0 + 1 }))
        yield* store.deleteBefore(T0 + 1)
        const left = yield* store.list({ limit: 10, cursor: null })
        assert.deepStrictEqual(
          left.letters.map(({ id }) => id),
          ["dlv_4"]
        )
      })
    )
  })
}
