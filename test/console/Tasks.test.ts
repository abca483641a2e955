/**
 * What operators come for, at 5,000 keys and 100,000 generations, each task from the overview in a
 * counted number of clicks.
 */
import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { readFileSync } from "node:fs"
import { makeDice } from "../../scripts/privacyEval/Dice.ts"
import { Audit } from "../store/ledger/LedgerAudit.ts"
import { assertHolds } from "../support/assertHolds.ts"
import { drawEnding } from "../support/month/endings.ts"
import { addressOf, month } from "../support/month/fillMonth.ts"
import { barriers, Console, enter, isTooWide, openPage, type View, type Walker } from "./browser.ts"
import { within } from "./clicks.ts"
import { layerMonth } from "./month.ts"

const wide: View = { width: 1_440, theme: "light" }
/** Both themes and both widths, each once. Only colours depend on the theme. */
const views: ReadonlyArray<View & { readonly rules: ReadonlyArray<string> | undefined }> = [
  { width: 390, theme: "dark", rules: undefined },
  { width: 1_440, theme: "light", rules: ["color-contrast"] }
]

const world = Audit.layer.pipe(Layer.provideMerge(layerMonth))

layer(world, { timeout: "90 seconds", excludeTestServices: true })("the console at size", (it) => {
  it("has receipts that hold, whatever the ending", () => {
    const dice = makeDice(7)
    for (let drawn = 0; drawn < 1_000; drawn++) assertHolds(drawEnding(dice, drawn % 10 === 0 ? "delta" : null))
  })

  it.effect("has books that agree, and a gateway that serves them", () =>
    Effect.gen(function* () {
      const { differences } = yield* Audit
      assert.deepStrictEqual(yield* differences, [])
      const sql = yield* PgClient.PgClient
      const [counts] = yield* sql<Omit<typeof month, "days">>`
        SELECT (SELECT count(*) FROM users) AS users, (SELECT count(*) FROM api_keys) AS keys,
          (SELECT count(*) FROM generations) AS generations, (SELECT count(*) FROM refusals) AS refusals`
      const { days: _, ...expected } = month
      assert.deepInclude(counts, expected)
      const { gateway } = yield* Console
      const headers = { "x-admin-key": gateway.adminKey }
      const listed = JSON.parse((yield* gateway.send("/v1/admin/requests?limit=100", { headers })).text)
      assert.lengthOf(listed.data, 100)
      const { id } = listed.data.find((one: { readonly attempts: number }) => one.attempts > 1)
      const receipt = JSON.parse((yield* gateway.send(`/v1/admin/generations/${id}`, { headers })).text)
      const paid = receipt.attempts.reduce((sum: number, one: { readonly cost_usd: number }) => sum + one.cost_usd, 0)
      assert.closeTo(paid, receipt.cost.total_cost_usd, 1e-12)
    })
  )

  const task = (title: string, clicks: number, run: (walker: Walker) => Promise<void>) =>
    it.effect(
      `${title}: ${clicks} clicks`,
      () => Effect.flatMap(Console, ({ walk }) => walk(wide, (walker) => within(clicks, walker, () => run(walker)))),
      60_000
    )

  task("makes a key with a budget and a whitelist", 5, async ({ page }) => {
    await openPage(page, "Keys")
    await page.getByRole("button", { name: "New key" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByLabel("Name").fill("capped")
    await dialog.getByLabel("Budget a month, USD").fill("5")
    await dialog.getByRole("combobox", { name: "Models" }).fill("acme/*")
    await dialog.getByRole("button", { name: "Create the key" }).click()
    assert.match((await dialog.locator("[data-secret]").textContent()) ?? "", /^tg-/)
    await dialog.getByRole("button", { name: "I have stored it" }).click()
    await page.getByRole("row").filter({ hasText: "capped" }).getByText("$5.00").first().waitFor()
  })

  task("shows who spends most", 1, async ({ page }) => {
    await openPage(page, "Usage")
    await page.getByRole("table", { name: "By key" }).locator("tbody tr").first().getByText("search 1").waitFor()
    await page.getByRole("table", { name: "By user" }).locator("tbody tr").nth(1).waitFor()
  })

  task("finds a request by each of its ids", 1, async ({ gateway, page }) => {
    const headers = { "x-admin-key": gateway.adminKey }
    const { text } = await Effect.runPromise(gateway.send("/v1/admin/requests?limit=1&end=failed", { headers }))
    const [{ id, key_id, owner, request_id }] = JSON.parse(text).data
    await openPage(page, "Requests")
    const search = page.getByRole("searchbox", { name: "Search" })
    await search.fill(id)
    await search.press("Enter")
    await page.getByRole("heading", { name: "Attempts" }).waitFor()
    await page.goBack()
    await search.fill(request_id)
    await search.press("Enter")
    await page.locator(`tbody a[href$="${id}"]`).waitFor()
    await page.getByRole("heading", { name: "1 request" }).waitFor()
    for (const one of [key_id, owner].filter((one) => one !== null)) {
      await search.fill(one)
      await search.press("Enter")
      await page.locator(`tbody a[href$="${id}"]`).waitFor()
    }
  })

  task("finds the requests of a user", 1, async ({ page }) => {
    await openPage(page, "Requests")
    await page.getByRole("searchbox", { name: "Search" }).fill(addressOf(3))
    const rows = page.getByRole("table", { name: "Requests" }).locator("tbody tr")
    await page.waitForURL(/q=/)
    await rows
      .filter({ hasNotText: addressOf(3) })
      .first()
      .waitFor({ state: "detached" })
    assert.strictEqual(await rows.count(), 50)
  })

  task("saves the requests of a key as CSV", 2, async ({ page }) => {
    await openPage(page, "Requests")
    await page.getByRole("searchbox", { name: "Search" }).fill("mobile 5")
    await page.waitForURL(/q=/)
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download CSV" }).click()
    ])
    assert.include(readFileSync(await download.path(), "utf8"), "mobile 5")
  })

  task("watches requests as they come", 2, async ({ gateway, page }) => {
    await openPage(page, "Requests")
    await page.getByLabel("Live").click()
    const { key } = await Effect.runPromise(gateway.issueKey({ name: "watched" }))
    const body = { model: "acme/small", messages: [{ role: "user", content: "Hello" }] }
    await Effect.runPromise(gateway.send("/v1/chat/completions", { key, body }))
    await page.getByRole("table", { name: "Requests" }).getByText("watched").waitFor()
  })

  task("rotates one of 5,000 keys", 5, async ({ page }) => {
    await openPage(page, "Keys")
    await page.getByRole("searchbox", { name: "Search" }).fill("research 2004")
    await page.getByRole("button", { name: /^rotate research 2004$/i }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByRole("button", { name: "Make a new secret" }).click()
    assert.match((await dialog.locator("[data-secret]").textContent()) ?? "", /^tg-/)
    await dialog.getByRole("button", { name: "I have stored it" }).click()
  })

  task("grants a user a budget", 3, async ({ page }) => {
    await openPage(page, "Users")
    const address = addressOf(7)
    await page.getByRole("searchbox", { name: "Search" }).fill(address)
    await page.getByRole("button", { name: `Edit ${address}` }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByLabel("Budget a month, USD").fill("321")
    await dialog.getByRole("button", { name: "Save" }).click()
    await page.getByRole("row").filter({ hasText: address }).getByText("$321.00").waitFor()
  })

  task("says why a request failed", 3, async ({ page }) => {
    await openPage(page, "Requests")
    await page.getByLabel("End").selectOption("failed")
    await page.waitForURL(/end=failed/)
    const failed = page.getByRole("table", { name: "Requests" }).locator("tbody tr").filter({ hasText: "502" })
    await failed.filter({ hasText: "provider error" }).first().locator("td").last().click()
    await page.getByRole("heading", { level: 1, name: "Receipt" }).waitFor()
    // The provider's own words.
    await page
      .getByText(/said: “/)
      .first()
      .waitFor()
  })

  task("says why a request was refused", 3, async ({ page }) => {
    await openPage(page, "Requests")
    await page.getByLabel("Error type").selectOption("budget_exceeded")
    const refused = page.getByRole("table", { name: "Requests" }).locator("tbody tr").filter({ hasText: "402" })
    await refused.first().locator("td").last().click()
    await page
      .getByText(/has no room for this request/)
      .first()
      .waitFor()
  })

  task("shows a provider that is down, and its traffic", 2, async ({ gateway, page }) => {
    const { key } = await Effect.runPromise(gateway.issueKey({ name: "of a provider that is down" }))
    const messages = [{ role: "user", content: "Hello" }]
    const body = { model: "globex/fast", provider: { order: ["delta"] }, messages }
    for (let sent = 0; sent < 6; sent++) await Effect.runPromise(gateway.send("/v1/chat/completions", { key, body }))
    // Without a click.
    await page.getByRole("row").filter({ hasText: "delta" }).getByText("open").first().waitFor()
    await openPage(page, "Providers")
    await page.getByRole("link", { name: "Requests that called Delta" }).click()
    const rows = page.getByRole("table", { name: "Requests" }).locator("tbody tr")
    await rows.filter({ hasText: "of a provider that is down" }).first().waitFor()
    assert.strictEqual(new URL(page.url()).searchParams.get("provider"), "delta")
  })

  task("asks a model as a stream, and previews its route", 4, async ({ page }) => {
    await openPage(page, "Playground")
    await page.getByRole("button", { name: "Make a key for an hour" }).click()
    await page
      .getByLabel("Model")
      .getByText(/globex\/fast/)
      .first()
      .waitFor({ state: "attached" })
    await page.getByRole("textbox", { name: "Prompt" }).fill("one two three")
    await page.getByRole("button", { name: "Send", exact: true }).click()
    await page
      .getByRole("article", { name: "Message 1" })
      .getByText(/finish reason stop/)
      .waitFor()
    await page.getByRole("region", { name: "Request" }).getByText("Route", { exact: true }).click()
    await page.getByRole("table", { name: "Candidates, in the order of calling" }).getByText("gamma").waitFor()
  })

  it.effect(
    "has no barrier and no sideways scrolling on any page, in both themes and widths",
    () =>
      Effect.gen(function* () {
        const { gateway, walk } = yield* Console
        for (const { rules, ...view } of views) {
          yield* walk(view, async ({ page }) => {
            await enter(page, gateway)
            const links = page.locator("nav").first().locator("a")
            const titles = (await links.allTextContents()).map((title) => title.trim())
            assert.include(titles, "Requests")
            for (const title of titles) {
              await openPage(page, title)
              assert.deepStrictEqual(await barriers(page, rules), [], `${title}, ${view.theme}`)
              assert.isFalse(await isTooWide(page), `${title} is wider than ${view.width} px`)
            }
          })
        }
      }),
    120_000
  )
})
