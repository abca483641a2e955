/** A user's way through the console: in by a code or an identity provider, back after a reload, the account's sessions, and out again. */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { type Page } from "playwright-core"
import { startOidcServer } from "../signin/identityServers.ts"
import { barriers, Console, type View, type Walker } from "./browser.ts"

const wide: View = { width: 1_440, theme: "dark" }

class IdentityProvider extends Context.Service<IdentityProvider, Effect.Success<typeof startOidcServer>>()(
  "tollgate/test/IdentityProvider"
) {}

/** A gateway to which people come by mailbox and by an OIDC server. */
const world = Layer.unwrap(
  Effect.map(startOidcServer, (provider) =>
    Layer.merge(
      Layer.succeed(IdentityProvider, provider),
      Console.layer({
        auth: { oauth: { okta: { client_id: "console", client_secret: "a-secret", issuer: provider.issuer } } }
      })
    )
  )
)

/** Signs in by the code that the development mailbox shows. */
const signIn = async (page: Page, address: string): Promise<void> => {
  await page.getByLabel("E-mail address").fill(address)
  await page.getByRole("button", { name: "Send me a code" }).click()
  await page.getByRole("button", { name: "Take the code from its mailbox" }).click()
  await page.waitForFunction(`document.querySelector('[autocomplete="one-time-code"]')?.value.length === 6`)
  await page.getByRole("button", { name: "Sign in" }).click()
  await page.locator("main#content").waitFor()
}

layer(world, { timeout: "90 seconds" })("the console, for a user", (it) => {
  const walks = (title: string, view: View, run: (walker: Walker) => Promise<void>) =>
    it.effect(title, () => Effect.flatMap(Console, ({ walk }) => walk(view, run)), 90_000)

  walks(
    "lets in by a code, leaves no token to scripts, comes back after a reload, and lets out",
    wide,
    async (walker) => {
      const { page } = walker
      await page.goto("/console")
      await page.getByRole("heading", { name: "Sign in" }).waitFor()
      assert.deepStrictEqual(await barriers(page), [])
      await signIn(page, "walker@example.com")
      await page.getByText("walker@example.com").first().waitFor()
      const kept = await page.evaluate("JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])")
      assert.deepStrictEqual(JSON.parse(String(kept)), [{ "tollgate.signed-in": "yes" }, {}, ""])
      await page.reload()
      await page.getByText("walker@example.com").first().waitFor()
      await page.getByRole("button", { name: "Sign out" }).click()
      await page.getByRole("heading", { name: "Sign in" }).waitFor()
      await page.reload()
      await page.getByRole("heading", { name: "Sign in" }).waitFor()
    }
  )

  walks("refuses a wrong code in the words of the gateway", { width: 360, theme: "light" }, async (walker) => {
    const { expectError, page } = walker
    expectError("401")
    await page.goto("/console")
    await page.getByLabel("E-mail address").fill("stranger@example.com")
    await page.getByRole("button", { name: "Send me a code" }).click()
    await page.getByLabel("Code").fill("000000")
    await page.getByRole("button", { name: "Sign in" }).click()
    await page.getByRole("alert").waitFor()
    assert.deepStrictEqual(await barriers(page), [])
    assert.isTrue(await page.getByRole("button", { name: /Another code in/ }).isVisible())
  })

  const comesByProvider = Effect.gen(function* () {
    const { issuer, signsIn } = yield* IdentityProvider
    const { gateway, walk } = yield* Console
    signsIn({ sub: "anna-1", email: "anna@example.com", email_verified: true })
    // The other session: a program that signs in by itself, with a code for the same address.
    const post = (path: string, body: unknown) =>
      Effect.map(gateway.send(path, { body, headers: { "user-agent": "a program" } }), ({ text }) => JSON.parse(text))
    const { challenge_id } = yield* post("/auth/register/email/start", { email: "anna@example.com" })
    const { text: letters } = yield* gateway.send("/auth/dev/mailbox")
    const letter = JSON.parse(letters).data.find(
      ({ destination }: { readonly destination: string }) => destination === "anna@example.com"
    )
    const { user } = yield* post("/auth/register/email/verify", { challenge_id, code: letter.code })
    assert.strictEqual(user.email, "anna@example.com")

    yield* walk(wide, async ({ expectVisit, page }) => {
      expectVisit(issuer)
      await page.goto("/console")
      await page.getByRole("link", { name: "With okta" }).click()
      await page.getByText("anna@example.com").first().waitFor()
      assert.strictEqual(new URL(page.url()).pathname, "/console")
      await page.getByRole("heading", { level: 1, name: "Account" }).waitFor()
      await page.getByText("this one").waitFor()
      assert.deepStrictEqual(await barriers(page), [])
      const end = page.getByRole("button", { name: "End the session of a program" })
      await end.click()
      await page.getByText("Session ended").waitFor()
      await end.waitFor({ state: "detached" })
    })
  })
  it.effect("comes in by an identity provider, and ends another session of the account", () => comesByProvider, 90_000)
})
