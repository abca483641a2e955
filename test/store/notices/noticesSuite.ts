/** What every Notices store promises, in memory or in a database. */
import { assert, describe, type Vitest } from "@effect/vitest"
import { Effect } from "effect"
import { type BudgetMark, type DeadLetter, Notices } from "../../../src/store/notices/Notices.ts"

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
  ...overrides
})

export const noticesSuite = (it: Vitest.MethodsNonLive<Notices>): void => {
  describe("Notices", () => {
    it.effect("gives dead letters back as they were, newest first, page by page, until they are forgotten", () =>
      Effect.gen(function* () {
        const store = yield* Notices
        const letters = ["dlv_3", "dlv_1", "dlv_2"].map((id) => letter(id))
        for (const one of letters) yield* store.bury(one)
        yield* store.bury(letter("dlv_2"))
        const first = yield* store.buried({ limit: 2, cursor: null })
        assert.deepStrictEqual(first, { letters: [letter("dlv_3"), letter("dlv_2")], nextCursor: "dlv_2" })
        const last = yield* store.buried({ limit: 2, cursor: first.nextCursor })
        assert.deepStrictEqual(last, { letters: [letter("dlv_1")], nextCursor: null })

        yield* store.bury(letter("dlv_4", { failedAtMs: T0 + 1 }))
        yield* store.forget(T0 + 1, "2026-11")
        const left = yield* store.buried({ limit: 10, cursor: null })
        assert.deepStrictEqual(
          left.letters.map(({ id }) => id),
          ["dlv_4"]
        )
      })
    )

    it.effect("marks a share of a budget once, however many ask at once; another budget or month is another", () =>
      Effect.gen(function* () {
        const store = yield* Notices
        const mark: BudgetMark = { keyId: "key_1", month: "2026-11", percent: 80, capNano: 1_000_000_000_000 }
        const firsts = yield* Effect.forEach(Array.from({ length: 10 }), () => store.mark(mark), {
          concurrency: "unbounded"
        })
        assert.lengthOf(firsts.filter(Boolean), 1)
        for (const other of [{ percent: 100 }, { month: "2026-12" }, { capNano: 2 }, { keyId: "key_2" }]) {
          assert.isTrue(yield* store.mark({ ...mark, ...other }))
        }
        yield* store.forget(0, "2026-12")
        assert.isTrue(yield* store.mark(mark))
        assert.isFalse(yield* store.mark({ ...mark, month: "2026-12" }))
      })
    )
  })
}
