/** Dead letters over HTTP: pages, and access. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { DeadLetterStore } from "../../../src/store/webhooks/DeadLetterStore.ts"
import { TestApp } from "../../support/TestApp.ts"

const idOf = (number: number) => `dlv_${String(number).padStart(32, "0")}`

it.effect("an admin reads dead letters, newest first", () =>
  Effect.gen(function* () {
    const { adminKey, issueKey, send } = yield* TestApp
    const letters = yield* DeadLetterStore
    for (const number of [1, 2, 3]) {
      yield* letters.add({
        id: idOf(number),
        eventId: `evt_${number}`,
        type: "key.created",
        url: "https://hooks.example.com/a",
        body: `{"number":${number}}`,
        attempts: 11,
        lastError: "status 500",
        createdAtMs: 0,
        failedAtMs: 1_000,
        retriedAtMs: null
      })
    }
    const path = "/v1/admin/webhooks/dead-letters"
    const headers = { "x-admin-key": adminKey }
    const list = (query: string) =>
      Effect.map(send(`${path}${query}`, { headers }), ({ status, text }) => ({ status, body: JSON.parse(text) }))

    const { body: first } = yield* list("?limit=2")
    assert.deepStrictEqual(first.data[0], {
      id: idOf(3),
      event_id: "evt_3",
      type: "key.created",
      url: "https://hooks.example.com/a",
      body: `{"number":3}`,
      attempts: 11,
      last_error: "status 500",
      created_at: "1970-01-01T00:00:00.000Z",
      failed_at: "1970-01-01T00:00:01.000Z",
      retried_at: null
    })
    assert.deepStrictEqual([first.object, first.has_more, first.next_cursor], ["list", true, idOf(2)])
    const { body: last } = yield* list(`?cursor=${first.next_cursor}`)
    assert.deepStrictEqual(
      last.data.map(({ id }: { readonly id: string }) => id),
      [idOf(1)]
    )
    assert.deepStrictEqual([last.has_more, last.next_cursor], [false, null])

    for (const query of ["?limit=0", "?limit=101", "?cursor=nobody"])
      assert.strictEqual((yield* list(query)).status, 422)
    assert.strictEqual((yield* send(path)).status, 401)
    const { secret } = yield* issueKey()
    assert.strictEqual((yield* send(path, { key: secret })).status, 401)
  }).pipe(Effect.provide(TestApp.layer({ providers: [] })))
)
