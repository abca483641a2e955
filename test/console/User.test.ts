/**
 * A user in the console: sign-in by code or identity provider, a key by keyboard only, a chat, its
 * usage, sign-out. And an admin, whose session gives the access of the admin key.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { type Page } from "playwright-core"
import { startOidcServer } from "../signin/identityServers.ts"
import { barriers, Console, isTooWide, openPage, type View, type Walker } from "./browser.ts"

const wide: View = { width: 1_440, theme: "dark" }
const narrow: View = { width: 360, theme: "light" }

class IdentityProvider extends Context.Service<IdentityProvider, Effect.Success<typeof startOidcServer>>()(
  "tollgate/test/IdentityProvider"
) {}

/** A gateway with sign-in by mailbox and by an OIDC server. */
const world = Layer.unwrap(
  Effect.map(startOidcServer, (provider) =>
    Layer.merge(
      Layer.succeed(IdentityProvider, provider),
      Console.layer({
        auth: {
          oauth: { okta: { client_id: "console", client_secret: "a-secret", issuer: provider.issuer } }
        }
      })
    )
  )
)

/** Signs in with the code in the development mailbox. */
const signIn = async (page: Page, address: string): Promise<void> => {
  await page.getByLabel("E-mail address").fill(address)
  await page.getByRole("button", { name: "Send me a code" }).click()
  await page.getByRole("button", { name: "Take the code from its mailbox" }).click()
  await page.getByText("The code is filled in").waitFor()
  await page.getByRole("button", { name: "Sign in" }).click()
  await page.locator("main#content").waitFor()
}

/** Presses Tab until the element called `name` has the focus. */
const tabTo = async (page: Page, name: string): Promise<void> => {
  for (let presses = 0; presses < 40; presses++) {
    await page.keyboard.press("Tab")
    const label = await page.evaluate(
      `(({ ariaLabel, labels, textContent }) => (ariaLabel ?? labels?.[0]?.textContent ?? textContent).trim())(document.activeElement)`
    )
    if (label === name) return
  }
  throw new Error(`the keyboard does not lead to ${name}`)
}

/** A user's session in a program, signed in by a code for the address. */
const programOf = (address: string) =>
  Effect.gen(function* () {
    const { gateway } = yield* Console
    const post = (path: string, body: unknown) =>
      Effect.map(gateway.send(path, { body, headers: { "user-agent": "a program" } }), ({ text }) => JSON.parse(text))
    const { challenge_id } = yield* post("/auth/register/email/start", { email: address })
    const { text } = yield* gateway.send("/auth/dev/mailbox")
    const letter = JSON.parse(text).data.find(
      ({ destination }: { readonly destination: string }) => destination === address
    )
    const { user } = yield* post("/auth/register/email/verify", { challenge_id, code: letter.code })
    assert.strictEqual(user.email, address)
    return user.id as string
  })

layer(world, { timeout: "90 seconds" })("the console, for a user", (it) => {
  const walks = (title: string, view: View, run: (walker: Walker) => Promise<void>) =>
    it.effect(title, () => Effect.flatMap(Console, ({ walk }) => walk(view, run)), 90_000)

  walks(
    "lets in by a code; a key made by the keyboard alone chats and shows in the usage; then lets out",
    wide,
    async ({ expectError, gateway, page }) => {
      await page.goto("/console/keys")
      await page.getByRole("heading", { name: "Sign in" }).waitFor()
      assert.deepStrictEqual(await barriers(page), [])
      await signIn(page, "walker@example.com")
      const kept = await page.evaluate("JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])")
      assert.deepStrictEqual(JSON.parse(String(kept)), [{ "tollgate.signed-in": "yes" }, {}, ""])
      // A reload returns to the requested page.
      await page.reload()
      await page.getByText("No keys yet").waitFor()
      await page.locator(".facts .figure", { hasText: "$1.00" }).first().waitFor()
      assert.deepStrictEqual(await page.locator(".facts .figure").allTextContents(), [
        "free",
        "$1.00",
        "$1.00",
        "$1.00",
        "0"
      ])

      expectError("403")
      await tabTo(page, "New key")
      await page.keyboard.press("Enter")
      const dialog = page.getByRole("dialog")
      await dialog.waitFor()
      await page.keyboard.type("by keyboard")
      await tabTo(page, "Budget a month, USD")
      await page.keyboard.type("2")
      await page.keyboard.press("Enter")
      await dialog.locator(".field.wrong").waitFor()
      await page.keyboard.press("Control+a")
      await page.keyboard.type("0.5")
      await tabTo(page, "embeddings")
      await page.keyboard.press("Space")
      await tabTo(page, "Create the key")
      await page.keyboard.press("Enter")
      const secret = (await dialog.locator("[data-secret]").textContent()) ?? ""
      assert.match(secret, /^tg-/)
      await tabTo(page, "I have stored it")
      await page.keyboard.press("Enter")
      await dialog.waitFor({ state: "detached" })
      await page.getByRole("row").filter({ hasText: "by keyboard" }).getByText("active").waitFor()
      await page.locator("button:focus", { hasText: "New key" }).waitFor()
      const model = { model: "mock/echo", messages: [{ role: "user", content: "Hello" }] }
      const chat = gateway.send("/v1/chat/completions", { key: secret, body: model })
      assert.strictEqual((await Effect.runPromise(chat)).status, 200)
      const embed = gateway.send("/v1/embeddings", { key: secret, body: { model: "mock/embed", input: "Hello" } })
      assert.strictEqual((await Effect.runPromise(embed)).status, 403)

      const menu = page.getByRole("navigation")
      await menu.getByRole("link", { name: "Playground" }).click()
      await page.getByRole("button", { name: "Make a key for an hour" }).click()
      await page.getByLabel("Model").selectOption("mock/echo")
      await page.getByRole("textbox", { name: "Prompt" }).fill("one two three")
      await page.getByRole("button", { name: "Send" }).click()
      await page.getByText(/finish reason stop/).waitFor()
      await menu.getByRole("link", { name: "Usage" }).click()
      await page.locator(".facts > div", { hasText: "Requests" }).getByText("2", { exact: true }).waitFor()
      await page.getByRole("table", { name: "By key" }).getByText("by keyboard").waitFor()
      await menu.getByRole("link", { name: "Requests" }).click()
      await page.getByRole("searchbox", { name: "Search" }).fill("by keyboard")
      await page.getByLabel("End").selectOption("succeeded")
      await page.getByRole("heading", { name: "1 request" }).waitFor()
      await page.locator("tbody a").first().click()
      await page.getByRole("heading", { name: "Attempts" }).waitFor()

      // The playground key's budget is released with it. The list waits for that.
      const isShown = Promise.withResolvers<void>()
      await page.route("**/v1/portal/keys/*", async (route) => {
        await isShown.promise
        await route.continue()
      })
      await menu.getByRole("link", { name: "Playground" }).click()
      await page.getByRole("button", { name: "Use another key" }).click()
      await menu.getByRole("link", { name: "Keys" }).click()
      await page.getByRole("heading", { level: 1, name: "Keys" }).waitFor()
      await page.evaluate("fetch('/health')")
      isShown.resolve()
      await page.getByLabel("Status").selectOption("all")
      await page.getByRole("row").filter({ hasText: "console playground" }).getByText("revoked").waitFor()

      await page.getByRole("button", { name: "Sign out" }).click()
      await page.getByRole("heading", { name: "Sign in" }).waitFor()
      await page.reload()
      await page.getByRole("heading", { name: "Sign in" }).waitFor()
    }
  )

  walks("refuses a wrong code of an SMS in the words of the gateway", narrow, async ({ expectError, page }) => {
    expectError("401")
    expectError("422")
    await page.goto("/console")
    await page.getByRole("button", { name: "SMS" }).click()
    await page.getByLabel("Phone number").fill("+1")
    await page.getByRole("button", { name: "Send me a code" }).click()
    await page.locator(".field.wrong [role=alert]").waitFor()
    // At its field only.
    assert.strictEqual(await page.getByRole("alert").count(), 1)
    await page.getByLabel("Phone number").fill("+1 202 555 0123")
    await page.getByRole("button", { name: "Send me a code" }).click()
    await page.getByLabel("Code").fill("000000")
    await page.getByRole("button", { name: "Sign in" }).click()
    await page.getByRole("alert").waitFor()
    assert.deepStrictEqual(await barriers(page), [])
    assert.isTrue(await page.getByText(/Another code in/).isVisible())
    const box = await page.locator(".door > .panel").first().boundingBox()
    const width = Number(await page.evaluate("document.documentElement.clientWidth"))
    assert.closeTo((box?.x ?? 0) * 2 + (box?.width ?? 0), width, 1)
    // After a typo nobody has to wait.
    await page.getByRole("button", { name: "Use another number" }).click()
    await page.getByLabel("Phone number").fill("+1 202 555 0199")
    await page.getByRole("button", { name: "Send me a code" }).click()
    await page.getByLabel("Code").waitFor()
  })

  const comesByProvider = Effect.gen(function* () {
    const { issuer, signsIn } = yield* IdentityProvider
    const { walk } = yield* Console
    signsIn({ sub: "anna-1", email: "anna@example.com", email_verified: true })
    yield* programOf("anna@example.com")
    yield* walk(narrow, async ({ expectVisit, page }) => {
      expectVisit(issuer)
      await page.goto("/console/account")
      await page.getByRole("link", { name: "With okta" }).click()
      await page.getByRole("heading", { level: 1, name: "Account" }).waitFor()
      assert.strictEqual(new URL(page.url()).pathname, "/console/account")
      await page.getByText("this one").waitFor()
      const end = page.getByRole("button", { name: "End the session of a program" })
      await end.click()
      await page.getByText("Session ended").waitFor()
      await end.waitFor({ state: "detached" })
      for (const title of ["Account", "Usage", "Keys", "Requests", "Playground"]) {
        await openPage(page, title)
        assert.deepStrictEqual(await barriers(page), [], title)
        assert.isFalse(await isTooWide(page), `${title} is wider than the window`)
      }
      await page.getByRole("button", { name: "Make a key for an hour" }).click()
      await page.getByLabel("Model").waitFor()
      assert.isFalse(await isTooWide(page), "the playground is wider than the window")
    })
  })
  it.effect(
    "comes in by an identity provider to the page that was asked for, and ends another session of the account",
    () => comesByProvider,
    90_000
  )

  const admin = Effect.gen(function* () {
    const { gateway, walk } = yield* Console
    const headers = { "x-admin-key": gateway.adminKey }
    const find = (search: string) =>
      Effect.map(gateway.send(`/v1/admin/users?search=${search}`, { headers }), ({ text }) => JSON.parse(text).data[0])
    const berta = yield* programOf("berta@example.com")
    yield* walk(wide, async ({ page }) => {
      await page.goto("/console/users")
      await signIn(page, "root@example.com")
      await page.getByText("There is nothing at this address").waitFor()
      const { id } = await Effect.runPromise(find("root@"))
      const promotion = gateway.send(`/v1/admin/users/${id}`, { method: "PATCH", body: { role: "admin" }, headers })
      await Effect.runPromise(promotion)
      await page.reload()
      await page.getByLabel("Search").fill("BERTA@")
      await page.getByRole("heading", { name: "1 user" }).waitFor()
      const dialog = page.getByRole("dialog")
      await page.getByRole("button", { name: "Edit berta@example.com" }).click()
      await dialog.getByLabel("Tier, at most").selectOption("pro")
      await dialog.getByLabel("Budget a month, USD").fill("20")
      assert.deepStrictEqual(await barriers(page), [])
      await dialog.getByRole("button", { name: "Save" }).click()
      const row = page.getByRole("row").filter({ hasText: "berta@example.com" })
      await row.getByText("$20.00").waitFor()
      await page.getByRole("button", { name: "Suspend berta@example.com" }).click()
      await dialog.getByRole("button", { name: "Cancel" }).click()
      await row.getByText("active").waitFor()
      await page.getByRole("button", { name: "Suspend berta@example.com" }).click()
      await dialog.getByRole("button", { name: "Suspend" }).click()
      await row.getByText("suspended").waitFor()
      await page.getByRole("button", { name: "Reactivate berta@example.com" }).click()
      await dialog.getByRole("button", { name: "Reactivate" }).click()
      await row.getByText("active").waitFor()
      // Admins cannot suspend themselves.
      await page.getByLabel("Search").fill("root")
      await page.getByText("you", { exact: true }).waitFor()
      assert.strictEqual(await page.getByRole("button", { name: /Suspend/ }).count(), 0)
      await page.getByLabel("Search").fill("nobody-at-all")
      await page.getByText("No matching users").waitFor()
      await openPage(page, "Usage")
      await page.getByRole("table", { name: "By user" }).getByText("walker@example.com").waitFor()
      await openPage(page, "Account")
      await page.getByText("root@example.com").last().waitFor()
    })
    const changed = yield* find(berta)
    assert.deepInclude(changed, { role: "user", status: "active" })
    assert.deepInclude(changed.grants, { tier: "pro", monthly_budget_usd: 20 })
  })
  it.effect("opens to an admin's session what the admin key opens: users, grants, suspension", () => admin, 90_000)
})
