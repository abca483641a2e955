/** The list of all requests: refused ones beside those that left a generation. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { ask, helloReply } from "../../contract/wire.ts"
import { broken } from "../../gateway/scripts.ts"
import { TestApp } from "../../support/TestApp.ts"
import { triedOnce } from "../../support/testSettings.ts"
import { readAsAdmin } from "./reports.ts"

const app = TestApp.layer({
  providers: [
    { slug: "alpha", models: { "test/small": broken, "acme/large": { reply: helloReply } } },
    { slug: "beta", models: { "test/small": { reply: helloReply } } }
  ],
  settings: { routing: triedOnce }
})

/** Signs in by the code in the development mailbox. */
const signIn = (email: string) =>
  Effect.gen(function* () {
    const { send } = yield* TestApp
    const call = (path: string, body?: unknown) => Effect.map(send(path, { body }), ({ text }) => JSON.parse(text))
    const { challenge_id } = yield* call("/auth/register/email/start", { email })
    const { data } = yield* call("/auth/dev/mailbox")
    const { code } = data.find(({ destination }: { readonly destination: string }) => destination === email)
    const { access_token, user } = yield* call("/auth/register/email/verify", { challenge_id, code })
    const read = (path: string) => Effect.map(send(path, { key: access_token }), ({ text }) => JSON.parse(text))
    const text = (path: string) => Effect.map(send(path, { key: access_token }), (answered) => answered.text)
    return { id: user.id as string, read, text }
  })

interface Row {
  readonly request_id: string
}

/** Some requests, named `r1` to `r6`, a minute apart. Their order is that of their names. */
const made = Effect.gen(function* () {
  const { chat, issueKey } = yield* TestApp
  const anna = yield* signIn("anna@example.com")
  const first = yield* issueKey({ name: "Reports", ownerId: anna.id })
  const second = yield* issueKey({ name: "Nightly", monthlyBudgetNano: 1 })
  const sent = (nth: number, body: unknown, key: string) =>
    Effect.andThen(TestClock.adjust("1 minute"), chat(body, { key, headers: { "x-request-id": `r${nth}` } }))
  yield* sent(1, ask("Hi"), first.secret)
  yield* sent(2, ask("Hi", { model: "no/such" }), first.secret)
  yield* sent(3, ask("Hi", { model: "acme/large" }), second.secret)
  yield* sent(4, ask("Hi", { provider: { only: ["alpha"] } }), first.secret)
  yield* sent(5, ask("Hi", { model: "acme/large" }), first.secret)
  yield* sent(6, ask("Hi"), "tg-wrong")
  yield* TestClock.adjust("1 second")
  return { anna, first, second }
})

const namesOf = ({ data }: { readonly data: ReadonlyArray<Row> }) => data.map((row) => row.request_id)
const listed = (query: string) => Effect.map(readAsAdmin(`/v1/admin/requests?${query}`), ({ body }) => namesOf(body))

it.effect("every request is a row, newest first, with names, status and the cause", () =>
  Effect.gen(function* () {
    const { anna, first, second } = yield* made
    const { body } = yield* readAsAdmin("/v1/admin/requests")
    assert.deepInclude(body, { object: "list", has_more: false, next_cursor: null })
    assert.deepStrictEqual(
      body.data.map((row: Record<string, unknown>) =>
        ["request_id", "object", "status", "end", "error_type", "key_name", "owner_name", "model", "provider"].map(
          (name) => row[name]
        )
      ),
      [
        ["r6", "refusal", 401, "refused", "authentication_error", null, null, null, null],
        ["r5", "generation", 200, "succeeded", null, "Reports", "anna@example.com", "acme/large", "alpha"],
        ["r4", "generation", 502, "failed", "provider_error", "Reports", "anna@example.com", "test/small", "alpha"],
        ["r3", "refusal", 402, "refused", "budget_exceeded", "Nightly", null, "acme/large", null],
        ["r2", "refusal", 404, "refused", "model_not_found", "Reports", "anna@example.com", null, null],
        ["r1", "generation", 200, "succeeded", null, "Reports", "anna@example.com", "test/small", "beta"]
      ]
    )
    assert.deepInclude(body.data[3], {
      key_id: second.id,
      owner: null,
      endpoint: "POST /v1/chat/completions",
      error_code: "monthly_budget_exceeded",
      count: 1,
      created_at: "1970-01-01T00:03:00.000Z"
    })
    assert.match(body.data[3].error_message, /^The key's monthly budget of \$0\.000000001 has no room/)
    assert.deepInclude(body.data[5], {
      key_id: first.id,
      owner: anna.id,
      attempts: 2,
      fallback_used: true,
      prompt_tokens: 3,
      completion_tokens: 1,
      billed_usd: 0.000005,
      streamed: false
    })
  }).pipe(Effect.provide(app))
)

it.effect("filters, a search box and pages across both kinds", () =>
  Effect.gen(function* () {
    const { anna, first, second } = yield* made
    const { body } = yield* readAsAdmin("/v1/admin/requests?limit=100")
    const [, , failed, refused] = body.data
    const cases: ReadonlyArray<readonly [string, ReadonlyArray<string>]> = [
      ["from=1970-01-01T00:02:00Z&to=1970-01-01T00:05:00Z", ["r4", "r3", "r2"]],
      [`key=${second.id}`, ["r3"]],
      [`user=${anna.id}`, ["r5", "r4", "r2", "r1"]],
      ["model=acme/large", ["r5", "r3"]],
      ["provider=alpha", ["r5", "r4", "r1"]],
      ["provider=beta", ["r1"]],
      ["status=200", ["r5", "r1"]],
      ["status=402", ["r3"]],
      ["status=502", ["r4"]],
      ["type=model_not_found", ["r2"]],
      ["end=refused", ["r6", "r3", "r2"]],
      ["end=failed", ["r4"]],
      ["end=succeeded", ["r5", "r1"]],
      ["end=cancelled", []],
      ["request_id=r3", ["r3"]],
      ["request_id=r5", ["r5"]],
      [`generation_id=${failed.id}`, ["r4"]],
      ["fallback=true", ["r1"]],
      ["cache_hit=true", []],
      ["q=r2", ["r2"]],
      ["q=ACME", ["r5", "r3"]],
      ["q=nightly", ["r3"]],
      ["q=anna@", ["r5", "r4", "r2", "r1"]],
      [`q=${first.id}`, ["r5", "r4", "r2", "r1"]],
      [`q=${anna.id}&status=404`, ["r2"]],
      [`q=${failed.id}`, ["r4"]],
      [`q=${refused.id}`, ["r3"]],
      ["q=nothing-of-the-kind", []],
      ["q=%20", ["r6", "r5", "r4", "r3", "r2", "r1"]]
    ]
    for (const [query, expected] of cases) assert.deepStrictEqual(yield* listed(query), expected, query)

    // Only generations have a cost: r1 was dearer to answer than r5, and r4 cost nothing.
    const { body: dearest } = yield* readAsAdmin("/v1/admin/requests?sort=cost")
    const costs = dearest.data.map((row: { readonly billed_usd: number }) => row.billed_usd)
    assert.sameMembers(namesOf(dearest), ["r1", "r4", "r5"])
    assert.deepStrictEqual(
      costs,
      costs.toSorted((a: number, b: number) => b - a)
    )
    assert.isNull(dearest.next_cursor)
    assert.deepStrictEqual(yield* listed("sort=latency&end=failed"), ["r4"])
    assert.deepStrictEqual(yield* listed("sort=latency&end=refused"), [])

    for (const limit of [1, 2, 4]) {
      const seen: Array<string> = []
      let cursor = ""
      do {
        const page = (yield* readAsAdmin(`/v1/admin/requests?limit=${limit}${cursor}`)).body
        seen.push(...namesOf(page))
        cursor = page.has_more === true ? `&cursor=${page.next_cursor}` : ""
      } while (cursor !== "")
      assert.deepStrictEqual(seen, ["r6", "r5", "r4", "r3", "r2", "r1"], `pages of ${limit}`)
    }
  }).pipe(Effect.provide(app))
)

it.effect("a user sees the requests of own keys, and an unknown filter is refused with a hint", () =>
  Effect.gen(function* () {
    const { anna, second } = yield* made
    const bert = yield* signIn("bert@example.com")
    assert.deepStrictEqual(namesOf(yield* anna.read("/v1/portal/requests")), ["r5", "r4", "r2", "r1"])
    assert.deepStrictEqual(namesOf(yield* anna.read("/v1/portal/requests?end=refused")), ["r2"])
    assert.deepStrictEqual(namesOf(yield* anna.read(`/v1/portal/requests?key=${second.id}`)), [])
    assert.deepStrictEqual(namesOf(yield* anna.read("/v1/portal/requests?q=nightly")), [])
    assert.deepStrictEqual(namesOf(yield* anna.read("/v1/portal/requests?q=reports")), ["r5", "r4", "r2", "r1"])
    assert.deepStrictEqual(namesOf(yield* bert.read("/v1/portal/requests")), [])
    assert.deepStrictEqual(namesOf(yield* bert.read(`/v1/portal/requests?q=${anna.id}`)), [])
    const misspelt = yield* readAsAdmin("/v1/admin/requests?statu=402")
    assert.strictEqual(misspelt.status, 422)
    assert.include(misspelt.body.error.message, "did you mean 'status'?")
    for (const query of ["status=20", "status=abc", "end=any", "fallback=maybe", "cursor=x"]) {
      assert.strictEqual((yield* readAsAdmin(`/v1/admin/requests?${query}`)).status, 422, query)
    }
  }).pipe(Effect.provide(app))
)

it.effect("as CSV: every row, whatever the number, and no cell that a spreadsheet runs", () =>
  Effect.gen(function* () {
    const { chat, issueKey } = yield* TestApp
    const { anna } = yield* made
    const formula = yield* issueKey({ name: `=HYPERLINK("http://x","a, b")` })
    for (let count = 0; count < 250; count++) yield* chat(ask("Hi", { model: "acme/large" }), { key: formula.secret })
    const { adminKey, send } = yield* TestApp
    const asked = (query: string) =>
      send(`/v1/admin/requests?format=csv&${query}`, { headers: { "x-admin-key": adminKey } })
    const { headers, status, text } = yield* asked("limit=1")
    assert.deepStrictEqual(
      [status, headers.get("content-type"), headers.get("content-disposition")],
      [200, "text/csv; charset=utf-8", 'attachment; filename="requests.csv"']
    )
    const lines = text.split("\r\n")
    assert.lengthOf(lines, 1 + 256 + 1)
    assert.match(lines[0] ?? "", /^object,id,request_id,created_at,endpoint,status,end,/)
    assert.lengthOf(new Set(lines), lines.length)
    assert.include(lines[1], `,${formula.id},"'=HYPERLINK(""http://x"",""a, b"")",`)
    assert.match(
      (yield* asked("request_id=r3")).text.split("\r\n")[1] ?? "",
      /^refusal,ref_\w+,r3,1970-01-01T00:03:00.000Z,POST \/v1\/chat\/completions,402,refused,budget_exceeded,/
    )
    assert.lengthOf((yield* asked("q=nothing-of-the-kind")).text.split("\r\n"), 2)
    const own = yield* anna.text("/v1/portal/requests?format=csv")
    assert.deepStrictEqual(
      own
        .split("\r\n")
        .slice(1, -1)
        .map((line) => line.split(",")[2]),
      ["r5", "r4", "r2", "r1"]
    )
  }).pipe(Effect.provide(app))
)
