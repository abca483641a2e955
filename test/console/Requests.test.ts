/** The page of requests: found by id, by words and by filters, kept in the address, and as CSV. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { type Page } from "playwright-core"
import { type Gateway } from "../support/Gateway.ts"
import { Console, enter } from "./browser.ts"

const wide = { width: 1_440, theme: "light" } as const

const chat = { model: "mock/echo", messages: [{ role: "user", content: "Hello" }] }

/** Calls of a new key, one after the other. */
const call = (gateway: Gateway, name: string, bodies: ReadonlyArray<unknown>) =>
  Effect.runPromise(
    Effect.gen(function* () {
      const { key } = yield* gateway.issueKey({ name })
      return yield* Effect.forEach(bodies, (body) => gateway.send("/v1/chat/completions", { key, body }), {
        concurrency: 8
      })
    })
  )

const rowsOf = (page: Page) => page.getByRole("table", { name: "Requests" }).locator("tbody tr")

layer(Console.layer(), { timeout: "90 seconds" })("the page of requests", (it) => {
  const walks = (
    title: string,
    view: Parameters<Console["Service"]["walk"]>[0],
    run: Parameters<Console["Service"]["walk"]>[1]
  ) => it.effect(title, () => Effect.flatMap(Console, ({ walk }) => walk(view, run)), 60_000)

  walks("keeps filters, rows and scroll when one comes back from a receipt", wide, async ({ gateway, page }) => {
    await call(
      gateway,
      "many",
      Array.from({ length: 70 }, () => chat)
    )
    await call(gateway, "refused", [{ ...chat, model: "mock/nobody" }])
    await enter(page, gateway, "/console/requests")
    await page.getByLabel("Keep it until this tab is closed").waitFor({ state: "detached" })
    await page.getByRole("searchbox", { name: "Search" }).fill("many")
    await page.getByRole("heading", { name: "50+ requests" }).waitFor()
    await page.getByLabel("End").selectOption("succeeded")
    await page.getByRole("button", { name: "Show more" }).click()
    await page.getByRole("heading", { name: "70 requests" }).waitFor()
    assert.strictEqual(new URL(page.url()).search, "?q=many&end=succeeded")
    const row = rowsOf(page).nth(60)
    await row.scrollIntoViewIfNeeded()
    const scroll = Number(await page.evaluate("scrollY"))
    assert.isAbove(scroll, 500)
    // The row itself, beside its links.
    await row.locator("td").last().click()
    await page.getByRole("heading", { name: "Attempts" }).waitFor()
    await page.goBack()
    await page.getByRole("heading", { name: "70 requests" }).waitFor()
    await page.waitForFunction(`Math.abs(scrollY - ${scroll}) < 2`)
    assert.strictEqual(await page.getByRole("searchbox", { name: "Search" }).inputValue(), "many")
    await page.goBack()
    await page.getByRole("heading", { name: "50+ requests" }).waitFor()
    assert.strictEqual(await page.getByLabel("End").inputValue(), "")
  })

  walks("saves as CSV what the list shows", wide, async ({ gateway, page }) => {
    await enter(page, gateway, "/console/requests?end=refused&unknown=member")
    await page.getByRole("heading", { name: "1 request" }).waitFor()
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download CSV" }).click()
    ])
    const lines = readFileSync(await download.path(), "utf8")
      .trim()
      .split("\n")
    assert.lengthOf(lines, 2)
    assert.include(lines[1], "model_not_found")
  })
})
