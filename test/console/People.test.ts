/** Keys and users in the console: the life of a key at its page, and many keys changed at once. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { barriers, Console, enter, isTooWide } from "./browser.ts"

const KEYS = 60

layer(Console.layer(), { timeout: "90 seconds" })("keys and users in the console", (it) => {
  it.effect(
    "finds, sorts and disables many keys at once; a key has a page with its usage and refusals",
    () =>
      Effect.gen(function* () {
        const { gateway, walk } = yield* Console
        for (let n = 1; n <= KEYS; n++) yield* gateway.issueKey({ name: `tenant ${n}` })
        yield* walk({ width: 1_440, theme: "light" }, async ({ expectError, page }) => {
          await enter(page, gateway, "/console/keys", true)
          await page.getByRole("heading", { name: /^50 of \d+ keys$/ }).waitFor()

          // A model that does not exist is marked before the form is sent.
          await page.getByRole("button", { name: "New key" }).click()
          const dialog = page.getByRole("dialog")
          await dialog.getByLabel("Name").fill("walker")
          await dialog.getByLabel("Budget a month, USD").fill("5")
          await dialog.getByRole("combobox", { name: "Models" }).fill("mock/eco ")
          await dialog.getByText("No model matches mock/eco.").waitFor()
          await dialog.getByRole("button", { name: "Remove mock/eco" }).click()
          await dialog.getByRole("combobox", { name: "Models" }).fill("mock/*")
          await dialog.getByRole("button", { name: "Create the key" }).click()
          const secret = (await dialog.locator("[data-secret]").textContent()) ?? ""
          await dialog.getByText(`export TOLLGATE_API_KEY=${secret}`).waitFor()
          await dialog.getByText(`${gateway.url}/v1`).first().waitFor()
          assert.deepStrictEqual(await barriers(page), [])
          await dialog.getByRole("button", { name: "I have stored it" }).click()

          expectError("404")
          const chat = (model: string) =>
            Effect.runPromise(
              gateway.send("/v1/chat/completions", {
                key: secret,
                body: { model, messages: [{ role: "user", content: "Hello" }] }
              })
            )
          assert.strictEqual((await chat("mock/echo")).status, 200)
          assert.strictEqual((await chat("mock/none")).status, 404)

          // Search, order and status are in the address.
          await page.getByRole("searchbox", { name: "Search" }).fill("tenant 33")
          await page.getByRole("heading", { name: "1 key" }).waitFor()
          assert.include(page.url(), "q=tenant+33")
          await page.getByRole("searchbox", { name: "Search" }).fill("tenant")
          await page.getByRole("heading", { name: `50 of ${KEYS} keys` }).waitFor()
          await page.getByRole("columnheader", { name: "Name" }).getByRole("button").click()
          await page.locator("tbody tr").first().getByText("tenant 1", { exact: true }).waitFor()
          assert.deepStrictEqual(await barriers(page), [])

          await page.getByRole("button", { name: `Select all ${KEYS}` }).click()
          await page.getByText(`${KEYS} selected`).waitFor()
          await page.getByRole("button", { name: "Disable selected" }).click()
          await dialog.getByText(`and ${KEYS - 8} more.`).waitFor()
          await dialog.getByRole("button", { name: `Disable ${KEYS} keys` }).click()
          await page.getByText(`${KEYS} keys disabled`).waitFor()
          await page.getByLabel("Status").selectOption("disabled")
          await page.getByRole("heading", { name: `50 of ${KEYS} keys` }).waitFor()

          // The refused request is written within a second or two.
          await page.getByLabel("Status").selectOption("live")
          await page.getByRole("searchbox", { name: "Search" }).fill("walker")
          await page.getByRole("link", { name: "walker", exact: true }).click()
          await page.getByRole("heading", { level: 1, name: "walker" }).waitFor()
          await page.getByRole("table", { name: "By model" }).getByText("mock/echo").waitFor()
          await page.getByRole("table", { name: "Changes" }).getByText("key.create").waitFor()
          await page.getByText("of $5.00").waitFor()
          assert.deepStrictEqual(await barriers(page), [])
          await page.getByRole("button", { name: "Disable" }).click()
          await dialog.getByRole("button", { name: "Disable" }).click()
          await page.getByText("Key disabled").waitFor()
          await page.getByRole("button", { name: "Enable" }).waitFor()

          await page.goto("/console/usage")
          await page.getByRole("table", { name: "By key" }).getByRole("link", { name: "walker" }).click()
          await page.getByRole("heading", { level: 1, name: "walker" }).waitFor()
        })
        yield* walk({ width: 390, theme: "dark" }, async ({ page }) => {
          await enter(page, gateway, "/console/keys?q=walker&status=all")
          await page.getByRole("link", { name: "walker", exact: true }).click()
          await page.getByRole("table", { name: "Changes" }).waitFor()
          assert.deepStrictEqual(await barriers(page), [])
          assert.isFalse(await isTooWide(page), "the page of a key is wider than the window")
        })
      }),
    90_000
  )
})
