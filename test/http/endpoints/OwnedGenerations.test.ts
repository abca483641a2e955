/** The generations that a signed-in user may read: those of the user's own keys. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { ask, helloReply } from "../../contract/wire.ts"
import { TestApp } from "../../support/TestApp.ts"

const app = TestApp.layer({ providers: [{ slug: "alpha", models: { "test/small": { reply: helloReply } } }] })

/** Signs in by the code in the development mailbox. */
const signIn = (email: string) =>
  Effect.gen(function* () {
    const { send } = yield* TestApp
    const call = (path: string, body?: unknown) => Effect.map(send(path, { body }), ({ text }) => JSON.parse(text))
    const { challenge_id } = yield* call("/auth/register/email/start", { email })
    const { data } = yield* call("/auth/dev/mailbox")
    const { code } = data.find(({ destination }: { readonly destination: string }) => destination === email)
    const { access_token, user } = yield* call("/auth/register/email/verify", { challenge_id, code })
    const read = (path: string) =>
      Effect.map(send(path, { key: access_token }), ({ status, text }) => ({ status, body: JSON.parse(text) }))
    return { id: user.id as string, read }
  })

it.effect("lists those of the user's keys, newest first, by key, and no others", () =>
  Effect.gen(function* () {
    const { adminKey, chat, issueKey, send } = yield* TestApp
    const [anna, bert] = [yield* signIn("anna@example.com"), yield* signIn("bert@example.com")]
    const first = yield* issueKey({ ownerId: anna.id, name: "notebook" })
    const second = yield* issueKey({ ownerId: anna.id })
    const made = yield* chat(ask("Hi"), { key: first.secret })
    yield* chat(ask("Hello"), { key: second.secret })
    yield* chat(ask("Hi"), { key: (yield* issueKey()).secret })

    const { body: all } = yield* anna.read("/v1/portal/generations")
    const keysOf = (list: { readonly data: ReadonlyArray<{ readonly key_id: string }> }) =>
      list.data.map((one) => one.key_id)
    assert.deepStrictEqual(keysOf(all), [second.id, first.id])
    assert.notProperty(all.data[0], "owner")
    const { body: some } = yield* anna.read(`/v1/portal/generations?key=${first.id}&error=none`)
    assert.deepStrictEqual(keysOf(some), [first.id])
    assert.deepStrictEqual(keysOf((yield* bert.read("/v1/portal/generations")).body), [])
    assert.deepStrictEqual(keysOf((yield* bert.read(`/v1/portal/generations?key=${first.id}`)).body), [])

    const id = made.headers.get("x-generation-id") ?? ""
    const { body: record } = yield* anna.read(`/v1/portal/generations/${id}`)
    assert.deepInclude(record, { id, key_id: first.id, key_name: "notebook", provider: "alpha" })
    const asAdmin = JSON.parse(
      (yield* send(`/v1/admin/generations/${id}`, { headers: { "x-admin-key": adminKey } })).text
    )
    assert.deepInclude(asAdmin, { key_name: "notebook", owner: anna.id, owner_name: "anna@example.com" })
    const theirs = yield* bert.read(`/v1/portal/generations/${id}`)
    const absent = yield* bert.read("/v1/portal/generations/gen_00000000000000000000000000000000")
    assert.deepStrictEqual([theirs.status, theirs.body.error.code], [404, "generation_not_found"])
    assert.strictEqual(theirs.body.error.message, absent.body.error.message)

    for (const key of [null, first.secret]) {
      assert.strictEqual((yield* send("/v1/portal/generations", { key })).status, 401)
    }
  }).pipe(Effect.provide(app))
)
