/** The page of requests and the receipts: why a request failed, found again, drawn and added up. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { type Page } from "playwright-core"
import { type AdminGenerationRecord } from "../../src/api/Generations.ts"
import { type Gateway } from "../support/Gateway.ts"
import { barriers, Console, enter, isTooWide } from "./browser.ts"
import { chats, requestsWorld } from "./requestsWorld.ts"

const wide = { width: 1_440, theme: "light" } as const

const readAs = async <A>(gateway: Gateway, path: string): Promise<A> => {
  const read = gateway.send(path, { headers: { "x-admin-key": gateway.adminKey } })
  return JSON.parse((await Effect.runPromise(read)).text) as A
}

/** Calls of a new key, one after the other, until the list has them. */
const callAs = async (gateway: Gateway, name: string, bodies: ReadonlyArray<Readonly<Record<string, unknown>>>) => {
  const { id, key } = await Effect.runPromise(gateway.issueKey({ name }))
  const calls = await chats(gateway, key, bodies)
  // Refusals are written after their answers.
  for (const call of calls) {
    if (call === undefined) continue
    const path = `/v1/admin/requests?request_id=${call.requestId}`
    while ((await readAs<{ readonly data: ReadonlyArray<unknown> }>(gateway, path)).data.length === 0);
  }
  return { keyId: id, calls }
}

const rowsOf = (page: Page) => page.getByRole("table", { name: "Requests" }).locator("tbody tr")
const search = (page: Page) => page.getByRole("searchbox", { name: "Search" })
const shows = (page: Page, requests: string) => page.getByRole("heading", { name: requests, exact: true }).waitFor()

const nextFrame = "new Promise((done) => requestAnimationFrame(done))"

const nano = (usd: number): number => Math.round(usd * 1e9)
/** `$0.000033` in nano-USD. */
const nanoOf = (text: string): number => nano(Number(text.replace(/^−/, "-").replaceAll(/[$,]/g, "")))

/** The figures of a list of sums, whose last three are the price, the markup and the bill. */
const figures = async (page: Page, list: string): Promise<ReadonlyArray<number>> =>
  (await page.locator(list).locator("dd").allTextContents()).map(nanoOf)

const sumOf = (numbers: ReadonlyArray<number>): number => numbers.reduce((sum, one) => sum + one, 0)

interface Rect {
  readonly kind: string
  readonly x: number
  readonly width: number
}

/** What is drawn of each attempt, in the units of the drawing. */
const drawn = (page: Page): Promise<ReadonlyArray<ReadonlyArray<Rect>>> =>
  page.evaluate(`[...document.querySelectorAll(".timeline li")].map((row) =>
    [...row.querySelectorAll("rect:not(.track)")].map((rect) => ({
      kind: rect.getAttribute("class").split(" ").at(-1).replace("time-", ""),
      x: rect.x.baseVal.value,
      width: rect.width.baseVal.value
    })))`)

/** The page's receipt has the figures of the API's. */
const assertReceipt = async (page: Page, gateway: Gateway, id: string): Promise<typeof AdminGenerationRecord.Type> => {
  const record = await readAs<typeof AdminGenerationRecord.Type>(gateway, `/v1/admin/generations/${id}`)
  const { attempts, cost, latency_ms, time_to_first_token_ms: firstMs } = record
  await page.goto(`/console/generations/${id}`)
  await page.getByRole("heading", { level: 1, name: "Receipt" }).waitFor()
  await page.getByRole("heading", { name: "Attempts" }).waitFor()

  const told = await figures(page, ".sums:not(.attempts)")
  assert.deepStrictEqual(told.slice(-3), [cost.total_cost_usd, cost.markup_usd, cost.billed_usd].map(nano))
  assert.strictEqual(sumOf(told.slice(0, -3)), nano(cost.total_cost_usd))
  const charged = attempts.filter(({ cost_usd }) => cost_usd > 0)
  if (charged.length > 1) {
    const byAttempt = await figures(page, ".sums.attempts")
    assert.deepStrictEqual(byAttempt, [...charged.map(({ cost_usd }) => nano(cost_usd)), nano(cost.total_cost_usd)])
    assert.strictEqual(sumOf(byAttempt.slice(0, -1)), nano(cost.total_cost_usd))
  }

  const rows = await page.locator(".timeline li").allTextContents()
  assert.lengthOf(rows, attempts.length)
  const bars = await drawn(page)
  const whole = Math.max(1, latency_ms, ...attempts.map(({ ended_ms }) => ended_ms ?? 0))
  const near = (found: number | undefined, ms: number) => assert.closeTo(found ?? NaN, (ms / whole) * 1_000, 5)
  attempts.forEach((attempt, at) => {
    const { ended_ms, message, provider, started_ms, status, wait_ms } = attempt
    const parts = bars[at] ?? []
    const part = (kind: string) => parts.find((one) => one.kind === kind)
    assert.include(rows[at], provider)
    if (message !== null) assert.include(rows[at], message)
    if (status === "skipped" || started_ms === null) return assert.deepStrictEqual(parts, [])
    near(part("calling")?.x, started_ms)
    const last = part("streaming") ?? part("calling")
    near((last?.x ?? NaN) + (last?.width ?? NaN), ended_ms ?? 0)
    assert.strictEqual(part("waited") !== undefined, wait_ms > 0)
    if (wait_ms > 0) {
      near(part("waited")?.width, wait_ms)
      assert.match(rows[at] ?? "", /waited \d/)
    }
  })
  const firsts = bars.flatMap((parts, at) => parts.flatMap(({ kind, x }) => (kind === "first" ? [{ at, x }] : [])))
  assert.lengthOf(firsts, firstMs === null || attempts.length === 0 ? 0 : 1)
  for (const { at, x } of firsts) {
    near(x, firstMs ?? 0)
    const { ended_ms, started_ms, status } = attempts[at] ?? assert.fail("no such attempt")
    assert.notStrictEqual(status, "skipped")
    assert.isTrue((started_ms ?? Infinity) <= (firstMs ?? 0) && (firstMs ?? 0) <= (ended_ms ?? 0))
  }
  return record
}

layer(requestsWorld, { timeout: "90 seconds" })("the page of requests", (it) => {
  const walks = (
    title: string,
    view: Parameters<Console["Service"]["walk"]>[0],
    run: Parameters<Console["Service"]["walk"]>[1]
  ) => it.effect(title, () => Effect.flatMap(Console, ({ walk }) => walk(view, run)), 60_000)

  walks("draws and adds up what the API says, however a request ended", wide, async ({ gateway, page }) => {
    const { calls } = await callAs(gateway, "all kinds", [
      { model: "test/good", temperature: 0 },
      { model: "test/good", temperature: 0 },
      { model: "test/retried" },
      { model: "test/fallback" },
      { model: "test/cut", stream: true },
      { model: "test/continued", stream: true },
      { model: "test/broken" }
    ])
    await enter(page, gateway, "/console", true)
    const read = async (at: number) => await assertReceipt(page, gateway, calls[at]?.id ?? "")
    assert.isFalse((await read(0)).cache_hit)
    assert.isTrue((await read(1)).cache_hit)
    const retried = await read(2)
    assert.isAbove(retried.attempts[1]?.wait_ms ?? 0, 0)
    const fallback = await read(3)
    assert.deepStrictEqual(
      fallback.attempts.map(({ provider, status }) => [provider, status]),
      [
        ["delta", "error"],
        ["beta", "ok"]
      ]
    )
    await page.getByText("delta said: “You exceeded your current quota, please check your plan.”").waitFor()
    const cut = await read(4)
    assert.isAbove(cut.cost.total_cost_usd, 0)
    assert.strictEqual(cut.error_type, "provider_error")
    const continued = await read(5)
    assert.lengthOf(
      continued.attempts.filter(({ cost_usd }) => cost_usd > 0),
      2
    )
    const broken = await read(6)
    await page.getByText("provider error: gamma said “Incorrect API key provided.”").waitFor()
    // The dearest first, in the address and in the heading; the same heading returns to the newest.
    await page.goto("/console/requests?q=all+kinds")
    await shows(page, "7 requests")
    await page.getByRole("button", { name: "Cost" }).click()
    await page.getByText("of the newest 1,000 that match").waitFor()
    assert.strictEqual(new URL(page.url()).search, "?q=all+kinds&sort=-cost")
    assert.strictEqual(await page.getByRole("columnheader", { name: "Cost" }).getAttribute("aria-sort"), "descending")
    await rowsOf(page).first().locator(`a[href$="${calls[5]?.id}"]`).waitFor()
    const costs = (await rowsOf(page).locator("td:last-child").allTextContents()).map(nanoOf)
    assert.deepStrictEqual(
      costs,
      costs.toSorted((a, b) => b - a)
    )
    await page.getByRole("button", { name: "Cost" }).click()
    await rowsOf(page).first().locator(`a[href$="${calls[6]?.id}"]`).waitFor()
    await rowsOf(page).getByText("502 failed").click()
    await page.getByRole("heading", { name: "Attempts" }).waitFor()
    // Whose request it was, by name and by the id that the client saw.
    await page.getByRole("link", { name: "all kinds" }).waitFor()
    await page.getByText(calls[6]?.requestId ?? "no id", { exact: true }).waitFor()
    assert.strictEqual(broken.request_id, calls[6]?.requestId)
    assert.include(await page.title(), "test/broken")
  })

  walks("keeps filters, rows and scroll when one comes back from a receipt", wide, async ({ gateway, page }) => {
    await callAs(
      gateway,
      "many",
      Array.from({ length: 70 }, () => ({ model: "test/good" }))
    )
    await enter(page, gateway, "/console/requests")
    await search(page).fill("many")
    await page.getByRole("button", { name: "Remove “many”" }).waitFor()
    await page.getByLabel("End").selectOption("succeeded")
    await page.getByRole("button", { name: "Remove end: succeeded" }).waitFor()
    await page.getByRole("button", { name: "Show more" }).click()
    await shows(page, "70 requests")
    assert.strictEqual(new URL(page.url()).search, "?q=many&end=succeeded")
    const row = rowsOf(page).nth(60)
    await row.scrollIntoViewIfNeeded()
    const scroll = Number(await page.evaluate("scrollY"))
    assert.isAbove(scroll, 500)
    // The row itself, beside its links.
    await row.locator("td").last().click()
    await page.getByRole("heading", { name: "Attempts" }).waitFor()
    await page.goBack()
    await shows(page, "70 requests")
    while (Math.abs(Number(await page.evaluate("scrollY")) - scroll) > 2) await page.evaluate(nextFrame)
    assert.strictEqual(await search(page).inputValue(), "many")
    await page.goBack()
    await shows(page, "50+ requests")
    assert.strictEqual(await page.getByLabel("End").inputValue(), "")
  })

  walks("says why a request was refused, finds it by its id, and saves the list", wide, async ({ gateway, page }) => {
    const { calls } = await callAs(gateway, "refused", [{ model: "test/nobody" }])
    const requestId = calls[0]?.requestId ?? ""
    await enter(page, gateway, "/console/requests?end=refused&unknown=member")
    await search(page).fill(requestId)
    await shows(page, "1 request")
    await rowsOf(page).getByText("404 refused").click()
    await page.getByRole("heading", { level: 1, name: "Refused request" }).waitFor()
    await page.getByText(/does not exist\. Did you mean 'test\/good'/).waitFor()
    await page.getByText("Take a name from GET /v1/models.").waitFor()
    await page.getByText(requestId, { exact: true }).waitFor()
    assert.deepStrictEqual(await barriers(page), [])
    await page.getByRole("link", { name: "All requests" }).click()
    await search(page).fill("nothing of this name")
    await page.getByText("Nothing has “nothing of this name”.").waitFor()
    await page.getByRole("button", { name: "Clear all filters" }).click()
    await search(page).fill("refused")
    await shows(page, "1 request")
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download CSV" }).click()
    ])
    const lines = readFileSync(await download.path(), "utf8")
      .trim()
      .split("\n")
    assert.lengthOf(lines, 2)
    assert.include(lines[1], requestId)
  })

  walks("leads from the overview's refusals to them, and shows new ones live", wide, async ({ gateway, page }) => {
    const { keyId } = await callAs(gateway, "first", [{ model: "test/nobody" }])
    await enter(page, gateway, "/console")
    const chart = page.locator(".chart", { has: page.getByRole("heading", { name: "Refusals by type" }) })
    await chart.getByRole("link", { name: "model not found" }).click()
    await page.getByRole("heading", { level: 1, name: "Requests" }).waitFor()
    assert.strictEqual(new URL(page.url()).search, "?span=hour&end=refused&type=model_not_found")
    await page.getByRole("button", { name: "Remove error: model not found" }).waitFor()
    // A key's id becomes a filter, which has the key's name.
    await search(page).fill(keyId)
    await page.keyboard.press("Enter")
    await page.getByRole("button", { name: "Remove key: first" }).waitFor()
    await shows(page, "1 request")
    await page.getByRole("switch", { name: "Live" }).check()
    await page.getByRole("button", { name: "Remove key: first" }).click()
    const before = await rowsOf(page).count()
    await callAs(gateway, "second", [{ model: "test/nobody" }])
    await rowsOf(page).first().getByText("second").waitFor()
    assert.isAtLeast(await rowsOf(page).count(), before)
    await page.getByRole("button", { name: /^Remove end/ }).click()
    await page.getByRole("button", { name: /^Remove error/ }).click()
    await page.locator('[role=slider][aria-label="Requests per minute"] canvas').waitFor()
    assert.deepStrictEqual(await barriers(page), [])
  })

  for (const view of [{ width: 390, theme: "dark" }, wide] as const) {
    walks(`keeps nobody out at ${view.width} px, ${view.theme}`, view, async ({ gateway, page }) => {
      const { calls } = await callAs(gateway, `seen ${view.theme}`, [{ model: "test/broken" }, { model: "test/good" }])
      await enter(page, gateway, `/console/requests?span=free&q=seen%20${view.theme}`, true)
      await shows(page, "2 requests")
      assert.deepStrictEqual(await barriers(page), [])
      assert.isFalse(await isTooWide(page))
      await page.goto(`/console/requests/${calls[0]?.id}`)
      await page.getByRole("heading", { name: "Attempts" }).waitFor()
      assert.deepStrictEqual(await barriers(page), [])
      assert.isFalse(await isTooWide(page))
    })
  }
})
