/**
 * The pages for operations: webhooks with a real receiver, the audit trail, refused credentials,
 * and the settings with their reload.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { Sql } from "../../src/store/sql/Sql.ts"
import * as DeadLetterSql from "../../src/store/webhooks/DeadLetterSql.ts"
import { DeadLetterStore } from "../../src/store/webhooks/DeadLetterStore.ts"
import { hookReceiver } from "../support/hookReceiver.ts"
import { freshDatabase } from "../support/Postgres.ts"
import { barriers, Console, enter, isTooWide, openPage } from "./browser.ts"

const wide = { width: 1_440, theme: "light" } as const
const dark = { width: 1_440, theme: "dark" } as const
const narrow = { width: 390, theme: "light" } as const

class Receiver extends Context.Service<Receiver, Effect.Success<typeof hookReceiver>>()("tollgate/test/Receiver") {}

const receiver = Layer.effect(Receiver, hookReceiver)

const secret = "a secret that both sides know"
const configOf = (url: string, more: object = {}) => ({
  webhooks: [{ url, secret, events: ["budget.exhausted"] }],
  ...more
})

/** A gateway on Postgres with a webhook, and two events for it that were given up. */
const world = Layer.unwrap(
  Effect.gen(function* () {
    const { url } = yield* Receiver
    const database = yield* Effect.orDie(freshDatabase)
    const letters = yield* Layer.build(
      Layer.provide(DeadLetterSql.layer, Sql.layerPostgres({ url: database, maxConnections: 1 }))
    ).pipe(Effect.orDie)
    for (const number of [1, 2]) {
      yield* Context.get(letters, DeadLetterStore)
        .add({
          id: `dlv_${String(number).padStart(32, "0")}`,
          eventId: `evt_${number}`,
          type: "budget.exhausted",
          url,
          body: `{"number":${number}}`,
          attempts: 11,
          lastError: "status 500",
          createdAtMs: Date.now() - 3_600_000,
          failedAtMs: Date.now() - 2_700_000,
          retriedAtMs: null
        })
        .pipe(Effect.orDie)
    }
    return Console.layer(configOf(url), { DATABASE_URL: Redacted.value(database) })
  })
).pipe(Layer.provideMerge(receiver))

layer(world, { timeout: "90 seconds", excludeTestServices: true })("the console, for operations", (it) => {
  const walks = (
    title: string,
    view: Parameters<Console["Service"]["walk"]>[0],
    run: (walker: Parameters<Parameters<Console["Service"]["walk"]>[1]>[0], hook: Receiver["Service"]) => Promise<void>
  ) =>
    it.effect(
      title,
      () =>
        Effect.gen(function* () {
          const hook = yield* Receiver
          yield* Effect.flatMap(Console, ({ walk }) => walk(view, (walker) => run(walker, hook)))
        }),
      60_000
    )

  walks("sends a dead letter again by a button, and a real receiver gets it", wide, async ({ gateway, page }, hook) => {
    await enter(page, gateway)
    await openPage(page, "Webhooks")
    await page.getByRole("heading", { name: "2 dead letters" }).waitFor()
    assert.deepStrictEqual(await barriers(page), [])
    await page.getByRole("button", { name: "Retry evt_2" }).click()
    await page.getByText("Queued again").waitFor()
    await page.getByRole("heading", { name: "1 dead letter", exact: true }).waitFor()
    await page.getByRole("link", { name: "Deliveries" }).click()
    const rows = page.getByRole("table", { name: "Deliveries" }).getByRole("row").filter({ hasText: "evt_2" })
    const refresh = page.getByRole("button", { name: "Refresh" })
    await rows.first().waitFor()
    while ((await rows.filter({ hasText: "delivered" }).count()) === 0) await refresh.click()
    assert.deepStrictEqual(
      hook.received.map(({ body, id }) => [id, body]),
      [["evt_2", '{"number":2}']]
    )
    assert.deepStrictEqual(await barriers(page), [])
  })

  walks("finds who changed a key, by clicks and by search, in the dark", dark, async ({ gateway, page }) => {
    const { id } = await Effect.runPromise(gateway.issueKey({ name: "billing robot" }))
    await Effect.runPromise(
      gateway.send(`/v1/keys/${id}`, {
        method: "PATCH",
        headers: { "x-admin-key": gateway.adminKey, "x-request-id": "changed-by-hand" },
        body: { tier: "pro" }
      })
    )
    await enter(page, gateway)
    await openPage(page, "Audit")
    const changed = page.getByRole("row").filter({ hasText: "key.change" }).filter({ hasText: "billing robot" })
    await changed.getByText("admin key").waitFor()
    await changed.getByText("members: tier").waitFor()
    await changed.getByText("127.0.0.1").waitFor()
    await page.getByRole("searchbox", { name: "Search" }).fill("ling rob")
    await page.getByRole("heading", { name: "2 events" }).waitFor()
    await page.getByLabel("Action").selectOption("key.create")
    await page.getByRole("heading", { name: "1 event", exact: true }).waitFor()
    assert.include(page.url(), "?q=ling+rob&action=key.create")
    assert.deepStrictEqual(await barriers(page), [])
    await page.goBack()
    await changed.getByRole("link", { name: "changed-by-ha" }).click()
    await page.getByRole("heading", { name: "1 event", exact: true }).waitFor()
  })

  walks("counts refused credentials by address, on a telephone", narrow, async ({ gateway, page }) => {
    for (const key of ["tg-wrong-1", "tg-wrong-2", "tg-wrong-3"]) {
      await Effect.runPromise(gateway.send("/v1/key", { key }))
    }
    await enter(page, gateway, "/console/audit/refused")
    const row = page.getByRole("row").filter({ hasText: "127.0.0.1" })
    await row.getByText("api key 3").waitFor()
    assert.isFalse(await isTooWide(page))
    assert.deepStrictEqual(await barriers(page), [])
    assert.notInclude(await page.content(), "tg-wrong")
  })

  walks("reloads the settings file by a button, and shows every fault of a faulty one", wide, async (walker, hook) => {
    const { gateway, page } = walker
    const write = (more: object) =>
      writeFileSync(join(gateway.directory, "tollgate.yaml"), JSON.stringify(configOf(hook.url, more)))
    await enter(page, gateway)
    await openPage(page, "Settings")
    await page.getByRole("heading", { name: "tiers", exact: true }).waitFor()
    const shown = async () => (await page.locator(".settings").textContent()) ?? ""
    assert.include(await shown(), "monthly_budget_usd5")
    assert.include(await shown(), "lease_seconds150")
    assert.notInclude(await shown(), secret)
    assert.deepStrictEqual(await barriers(page), [])

    const reload = page.getByRole("button", { name: "Reload the file" })
    write({ tiers: { free: { monthly_budget_usd: 1.5 } }, server: { max_requests: 77 } })
    await reload.click()
    await page.getByText("tiers.free.monthly_budget_usd").waitFor()
    await page.getByText("server.max_requests").waitFor()
    await page.locator(".settings").getByText("1.5", { exact: true }).waitFor()
    assert.notInclude(await shown(), "max_requests77")

    write({ routing: { retris: 1 }, cache: { ttl_seconds: 0 } })
    await reload.click()
    await page.getByRole("heading", { name: "Not reloaded: 2 faults" }).waitFor()
    await page.getByText("routing.retris").waitFor()
    await page.getByText("cache.ttl_seconds").first().waitFor()
    assert.include(await shown(), "monthly_budget_usd1.5")
    assert.deepStrictEqual(await barriers(page), [])

    await openPage(page, "Audit")
    assert.strictEqual(await page.getByRole("row").filter({ hasText: "settings.reload" }).count(), 2)
  })
})
