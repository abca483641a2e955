/**
 * The API page in a real browser under its content security policy: it works, and loads nothing
 * from other servers.
 */
import { layer } from "@effect/vitest"
import { Effect } from "effect"
import { Console } from "./browser.ts"

layer(Console.layer(), { timeout: "90 seconds" })("the API page", (it) => {
  it.effect(
    "shows the endpoints",
    () =>
      Effect.flatMap(Console, ({ walk }) =>
        walk({ width: 1_440, theme: "light" }, async ({ expectError, page }) => {
          // Browsers request an icon that does not exist.
          expectError("404")
          await page.goto("/docs")
          await page.getByRole("heading", { name: "tollgate" }).first().waitFor()
          await page.getByText("/v1/chat/completions").first().waitFor()
        })
      ),
    60_000
  )
})
