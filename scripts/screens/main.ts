/**
 * Pictures of every page of the console for its document, from a gateway with a month of traffic:
 * each page of the navigation, the page behind its first row, and the pages of a user. Writes
 * docs/how-to/console/*.png and their section of docs/how-to/console.md. Needs Postgres and
 * Chromium, like the tests.
 *
 *   npm run console:screens
 */
import { Effect, Layer, Redacted } from "effect"
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { type Page } from "playwright-core"
import { Console, enter, openPage, type View } from "../../test/console/browser.ts"
import { layerMonthOn } from "../../test/console/month.ts"
import { addressOf } from "../../test/support/month/fillMonth.ts"
import { spawnPostgres } from "../../test/support/Postgres.ts"
import { withPalette } from "./palette.ts"

const folder = fileURLToPath(new URL("../../docs/how-to/console/", import.meta.url))
const document = fileURLToPath(new URL("../../docs/how-to/console.md", import.meta.url))
const light: View = { width: 1_280, theme: "light" }
const dark: View = { width: 1_280, theme: "dark" }

interface Shown {
  readonly file: string
  readonly words: string
}
const shown: Array<Shown> = []

const settled = async (page: Page): Promise<void> => {
  await page.locator("main#content h1").first().waitFor()
  const placeholders = page.locator(".skeleton")
  while ((await placeholders.count()) > 0) await placeholders.first().waitFor({ state: "detached" })
  const charts = page.locator(".chart")
  if ((await charts.count()) > 0) await charts.first().locator("canvas").waitFor()
  await page.evaluate("new Promise((done) => setTimeout(done, 300))")
}

const take = async (page: Page, file: string, words: string): Promise<void> => {
  const png = withPalette(await page.screenshot({ animations: "disabled", caret: "hide" }))
  writeFileSync(`${folder}${file}.png`, png)
  shown.push({ file, words })
  console.log(`${file}.png, ${Math.round(png.length / 1_024)} kB: ${words}`)
}

const fileOf = (path: string): string => path.replace(/^\/console\/?/, "").replaceAll("/", "-") || "overview"

/** What a page shows only after some work in it. */
const work: Readonly<Record<string, (page: Page) => Promise<void>>> = {
  "/console/privacy": async (page) => {
    await page.getByRole("button", { name: "Make a key for an hour" }).click()
    await page.getByRole("textbox", { name: "Text" }).fill("Write to jane@example.com or call +1 202 555 0123.")
    await page.getByRole("button", { name: "Look" }).click()
    await page.locator("mark").first().waitFor()
  }
}

/** Each page of the navigation, and the page that the first row of its first table leads to. */
const allPages = async (page: Page, prefix: string, words: string): Promise<void> => {
  const links = page.locator("nav").first().locator("a")
  const entries: Array<readonly [title: string, path: string]> = []
  for (const link of await links.all()) {
    entries.push([((await link.textContent()) ?? "").trim(), (await link.getAttribute("href")) ?? ""])
  }
  for (const [title, path] of entries) {
    await openPage(page, title)
    await settled(page)
    if (prefix === "") await work[path]?.(page)
    await take(page, `${prefix}${fileOf(path)}`, `${title}${words}`)
    const rows = page.locator("main tbody tr").filter({ has: page.locator(`a[href^="${path}/"]`) })
    const special = rows.filter({ hasText: "2 attempts", hasNotText: "checkout, new" })
    const row = ((await special.count()) > 0 ? special : rows).first().locator(`a[href^="${path}/"]`).first()
    if (prefix !== "" || path === "/console" || (await row.count()) === 0) continue
    await row.click()
    await settled(page)
    const heading = (await page.locator("main#content h1").first().textContent()) ?? ""
    await take(page, `${fileOf(path)}-one`, `${title}: ${heading.trim()}`)
  }
}

const signIn = async (page: Page, address: string): Promise<void> => {
  await page.goto("/console")
  await page.getByLabel("E-mail address").waitFor()
  await take(page, "sign-in", "Sign-in")
  await page.getByLabel("E-mail address").fill(address)
  await page.getByRole("button", { name: "Send me a code" }).click()
  await page.getByRole("button", { name: "Take the code from its mailbox" }).click()
  await page.getByText("The code is filled in").waitFor()
  await page.getByRole("button", { name: "Sign in" }).click()
  await page.locator("main#content").waitFor()
}

/** `delta` refuses connections, so calls that begin with it open its circuit. */
const callDelta = Effect.gen(function* () {
  const { gateway } = yield* Console
  const { key } = yield* gateway.issueKey({ name: "checkout, new" })
  const body = { model: "globex/fast", provider: { order: ["delta"] }, messages: [{ role: "user", content: "Hello" }] }
  yield* Effect.repeat(gateway.send("/v1/chat/completions", { key, body }), { times: 9 })
})

const section = () => {
  const text = readFileSync(document, "utf8")
  const [before = "", rest = ""] = text.split("<!-- screens -->\n")
  const [, after = ""] = rest.split("<!-- end of screens -->\n")
  const pictures = shown.map(({ file, words }) => `![${words}](console/${file}.png)\n`).join("\n")
  writeFileSync(document, `${before}<!-- screens -->\n\n${pictures}\n<!-- end of screens -->\n${after}`)
}

const pictures = Effect.gen(function* () {
  yield* callDelta
  const { walk } = yield* Console
  const patient =
    (run: Parameters<typeof walk>[1]): typeof run =>
    async (walker) => {
      walker.expectError("")
      await run(walker)
    }
  yield* walk(
    light,
    patient(async ({ gateway, page }) => {
      await enter(page, gateway)
      await allPages(page, "", "")
    })
  )
  yield* walk(
    dark,
    patient(async ({ gateway, page }) => {
      await enter(page, gateway)
      await settled(page)
      await take(page, "overview-dark", "Overview, dark")
    })
  )
  yield* walk(
    light,
    patient(async ({ page }) => {
      await signIn(page, addressOf(21))
      await allPages(page, "own-", ", for a user")
    })
  )
})

rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
await Effect.runPromise(
  Effect.scoped(
    Effect.gen(function* () {
      const server = yield* Effect.acquireRelease(
        Effect.promise(() => spawnPostgres()),
        ({ stop }) => Effect.promise(() => stop())
      )
      yield* Effect.provide(pictures, yield* Layer.build(layerMonthOn(Redacted.make(server.url))))
    })
  )
)
section()
const bytes = readdirSync(folder).reduce((sum, file) => sum + statSync(`${folder}${file}`).size, 0)
console.log(`${shown.length} pictures, ${Math.round(bytes / 1_024)} kB`)
