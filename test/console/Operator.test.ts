/** An operator in the console: sign-in with the admin key, the overview, and the life of a key. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { adminKeyField, barriers, Console, enter, openPage } from "./browser.ts"

const wide = { width: 1_440, theme: "light" } as const

layer(Console.layer(), { timeout: "90 seconds" })("the console, for an operator", (it) => {
  const walks = (
    title: string,
    view: Parameters<Console["Service"]["walk"]>[0],
    run: Parameters<Console["Service"]["walk"]>[1]
  ) => it.effect(title, () => Effect.flatMap(Console, ({ walk }) => walk(view, run)), 60_000)

  walks(
    "lets nobody in with a wrong key, forgets the right one when told to, and keeps none across tabs",
    wide,
    async ({ expectError, gateway, page }) => {
      expectError("401")
      await page.goto("/console/keys")
      await (await adminKeyField(page)).fill("not-the-key-of-this-gateway")
      await page.getByRole("button", { name: "Open the console" }).click()
      await page.getByText("This is not the admin key of this gateway.").first().waitFor()
      assert.deepStrictEqual(await barriers(page), [])
      await page.getByLabel("Admin key").fill(gateway.adminKey)
      await page.getByRole("button", { name: "Open the console" }).click()
      // The requested page, not the first one.
      await page.getByRole("heading", { level: 1, name: "Keys" }).waitFor()
      assert.deepStrictEqual(await page.evaluate("[sessionStorage.length, localStorage.length]"), [0, 0])
      await page.reload()
      await (await adminKeyField(page)).fill(gateway.adminKey)
      await page.getByLabel("Keep it until this tab is closed").check()
      await page.getByRole("button", { name: "Open the console" }).click()
      await page.getByRole("heading", { level: 1, name: "Keys" }).waitFor()
      await page.reload()
      await page.getByRole("heading", { level: 1, name: "Keys" }).waitFor()
      await page.getByRole("button", { name: "Forget the key" }).click()
      await adminKeyField(page)
      assert.strictEqual(await page.evaluate("sessionStorage.length"), 0)
    }
  )

  walks("makes a key, shows its secret once, changes, rotates and revokes it", wide, async (walker) => {
    const { expectError, gateway, page } = walker
    expectError("422")
    await enter(page, gateway, "/console/keys")
    await page.getByRole("button", { name: "New key" }).click()
    const dialog = page.getByRole("dialog")
    // Faults are shown in the gateway's words, at the field.
    await dialog.getByLabel("Name").fill("x".repeat(201))
    await dialog.getByRole("button", { name: "Create the key" }).click()
    await dialog.locator(".field.wrong").getByText(/200/).waitFor()
    await page.keyboard.press("Escape")
    await dialog.waitFor({ state: "detached" })
    await page.getByRole("button", { name: "New key" }).click()
    await dialog.getByLabel("Name").fill("walker")
    await dialog.getByLabel("Tier").selectOption("pro")
    await dialog.getByLabel("Budget a month, USD").fill("5")
    await dialog.getByRole("combobox", { name: "Models" }).fill("mock/*")
    assert.deepStrictEqual(await barriers(page), [])
    await dialog.getByRole("button", { name: "Create the key" }).click()
    const secret = (await dialog.locator("[data-secret]").textContent()) ?? ""
    assert.match(secret, /^tg-/)
    // Escape does not close content that is shown only once.
    await page.keyboard.press("Escape")
    await dialog.getByRole("button", { name: "I have stored it" }).click()
    assert.notInclude(await page.content(), secret)

    const answered = await Effect.runPromise(
      gateway.send("/v1/chat/completions", {
        key: secret,
        body: { model: "mock/echo", messages: [{ role: "user", content: "Hello" }] }
      })
    )
    assert.strictEqual(answered.status, 200)

    const row = page.getByRole("row").filter({ hasText: "walker" })
    await row.getByRole("button", { name: "Edit" }).click()
    await dialog.getByLabel("Name").fill("walker, renamed")
    await dialog.getByLabel("Status").selectOption("disabled")
    await dialog.getByRole("button", { name: "Save" }).click()
    await page.getByText("Key saved").waitFor()
    await row.getByText("disabled").waitFor()

    await row.getByRole("button", { name: "Rotate" }).click()
    await dialog.getByLabel("The old secret").selectOption("0")
    await dialog.getByRole("button", { name: "Make a new secret" }).click()
    const second = (await dialog.locator("[data-secret]").textContent()) ?? ""
    assert.match(second, /^tg-/)
    assert.notStrictEqual(second, secret)
    await dialog.getByRole("button", { name: "I have stored it" }).click()

    await row.getByRole("button", { name: "Revoke" }).click()
    await dialog.getByRole("button", { name: "Cancel" }).click()
    await row.getByText("disabled").waitFor()
    await row.getByRole("button", { name: "Revoke" }).click()
    await dialog.getByRole("button", { name: "Revoke for good" }).click()
    await page.getByText("Key revoked").waitFor()
    await row.waitFor({ state: "detached" })
    await page.getByLabel("Status").selectOption("all")
    await row.getByText("revoked").waitFor()
  })

  walks("shows figures that renew themselves", wide, async ({ gateway, page }) => {
    await enter(page, gateway)
    await page.getByText("Requests per minute").waitFor()
    await page.locator(".chart canvas").nth(7).waitFor()
    const requests = page.locator(".facts > div").first().locator(".figure")
    const before = Number(await requests.textContent())
    const { key } = await Effect.runPromise(gateway.issueKey())
    await Effect.runPromise(
      gateway.send("/v1/chat/completions", {
        key,
        body: { model: "mock/echo", messages: [{ role: "user", content: "Counted?" }] }
      })
    )
    const first = page.locator(".facts > div").first()
    await first.locator(".figure", { hasText: new RegExp(`^${before + 1}$`) }).waitFor()
  })

  walks("draws charts where there are some, and tells their figures to the keyboard", wide, async (walker) => {
    const { gateway, page } = walker
    const parts: Array<string> = []
    page.on("request", (request) => {
      if (request.resourceType() === "script") parts.push(new URL(request.url()).pathname)
    })
    await enter(page, gateway, "/console/keys")
    await page.getByRole("heading", { level: 1, name: "Keys" }).waitFor()
    assert.lengthOf(parts, 1)
    await openPage(page, "Overview")
    const chart = page.getByRole("slider", { name: "Requests per minute" })
    await chart.locator("canvas").waitFor()
    await openPage(page, "Usage")
    await openPage(page, "Overview")
    await chart.locator("canvas").waitFor()
    // The drawing code was loaded with the first chart, once.
    assert.lengthOf(parts, 2)
    // One call in this minute, none in the first of the hour.
    const { key } = await Effect.runPromise(gateway.issueKey())
    const body = { model: "mock/echo", messages: [{ role: "user", content: "Drawn?" }] }
    await Effect.runPromise(gateway.send("/v1/chat/completions", { key, body }))
    await page.locator('[role=slider][aria-label="Requests per minute"]:not([aria-valuetext$="requests 0"])').waitFor()
    await chart.focus()
    await page.keyboard.press("Home")
    await page.locator('[role=slider][aria-valuenow="0"][aria-valuetext$="requests 0"]').waitFor()
    await page.keyboard.press("ArrowRight")
    await page.locator('[role=slider][aria-label="Requests per minute"][aria-valuenow="1"]').waitFor()
  })

  walks("shows a chart's figures where its drawing does not load", wide, async ({ expectError, gateway, page }) => {
    expectError("ERR_FAILED")
    await page.route(/plot-[^/]*\.js$/, (route) => route.abort())
    await enter(page, gateway)
    await page.getByText("The drawing did not load.").nth(7).waitFor()
    await page.locator(".chart .legend", { hasText: "requests" }).first().waitFor()
    assert.deepStrictEqual(await barriers(page), [])
  })

  walks("marks in a text what masking would find", wide, async ({ gateway, page }) => {
    await enter(page, gateway, "/console/privacy")
    await page.getByRole("button", { name: "Make a key for an hour" }).click()
    await page.getByRole("textbox", { name: "Text" }).fill("Write to jane@example.com. Thanks, 😀 bob@example.org")
    await page.getByRole("button", { name: "Look" }).click()
    const found = page.locator("mark")
    await found.first().waitFor()
    assert.deepStrictEqual(await found.allTextContents(), ["jane@example.comemail", "bob@example.orgemail"])
    await page.getByText("Write to [EMAIL_1]. Thanks, 😀 [EMAIL_2]").waitFor()
    assert.deepStrictEqual(await barriers(page), [])
    await page.getByLabel("As if the gateway would").selectOption("block")
    await page.getByRole("button", { name: "Look" }).click()
    await page.getByText("would be refused").waitFor()
  })

  walks("does not jump while the overview loads", { width: 360, theme: "light" }, async ({ gateway, page }) => {
    await page.goto("/console")
    await (await adminKeyField(page)).fill(gateway.adminKey)
    await page.getByLabel("Keep it until this tab is closed").check()
    await page.getByRole("button", { name: "Open the console" }).click()
    await page.locator("main#content").waitFor()
    await page.addInitScript(`
      globalThis.moved = 0
      new PerformanceObserver((list) => {
        for (const { hadRecentInput, value } of list.getEntries()) if (!hadRecentInput) moved += value
      }).observe({ type: "layout-shift", buffered: true })`)
    // Responses arrive after the placeholders have been drawn.
    let drawn: Promise<void> | undefined
    await page.route(/\/(?:v1\/admin\/.*|health)$/, async (route) => {
      await (drawn ??= page.locator(".skeleton").first().waitFor())
      await route.continue()
    })
    await page.goto("/console")
    await page.locator(".chart canvas").nth(7).waitFor()
    await page.getByRole("table", { name: "Providers" }).waitFor()
    await page.evaluate(
      "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))"
    )
    assert.isBelow(Number(await page.evaluate("moved")), 0.02)
  })
})
