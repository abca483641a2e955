/** Counts what an operator does with the mouse. Typing and the keyboard are free. */
import { assert } from "@effect/vitest"
import { type Page } from "playwright-core"
import { type Gateway } from "../support/Gateway.ts"
import { enter } from "./browser.ts"

/** From the overview, a task in at most this many clicks. A choice from a list counts as one. */
export const within = async (
  clicks: number,
  { gateway, page }: { readonly gateway: Gateway; readonly page: Page },
  task: () => Promise<void>
): Promise<void> => {
  await enter(page, gateway)
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor()
  await page.evaluate(`
    globalThis.clicks = []
    const note = ({ isTrusted, target }) => isTrusted && clicks.push((target.textContent || target.outerHTML).slice(0, 40))
    document.addEventListener("pointerdown", note, true)
    document.addEventListener("change", ({ target }) => target.tagName === "SELECT" && clicks.push(target.value), true)`)
  await task()
  const made = (await page.evaluate("clicks")) as ReadonlyArray<string>
  assert.isAtMost(made.length, clicks, made.join(" | "))
}
