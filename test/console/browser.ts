/**
 * The console in a real browser against a real gateway. A file shares one gateway and one browser;
 * every walk has its own page. A walk fails if the page logs an error, violates its content
 * security policy, or loads anything from another server.
 */
import axe from "axe-core"
import { Context, Effect, Layer } from "effect"
import { execFileSync } from "node:child_process"
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { type Browser, chromium, type Page } from "playwright-core"
import { type Gateway, startGateway } from "../support/Gateway.ts"

const root = fileURLToPath(new URL("../../", import.meta.url)).replace(/\/$/, "")

const executable = (): string => {
  const named = process.env["TOLLGATE_TEST_CHROMIUM"] ?? ""
  const found = [named, "/usr/bin/chromium", "/usr/bin/google-chrome"].find((path) => path !== "" && existsSync(path))
  if (found === undefined) throw new Error("no Chromium here: install it, or name one with TOLLGATE_TEST_CHROMIUM")
  return found
}

/** Builds the console like the commands: only if a source is newer. */
export const buildConsole = Effect.sync(() =>
  execFileSync("sh", ["-c", `root=$1 node=$2; . "$1/scripts/console.sh"; ensure_console`, "sh", root, process.execPath])
)

export interface View {
  readonly width: number
  readonly theme: "light" | "dark"
}

export interface Walker {
  readonly page: Page
  readonly gateway: Gateway
  /** Allows an error message with this text, which the walk provokes. */
  readonly expectError: (text: string) => void
  /** Allows a visit to another server, such as an identity provider. */
  readonly expectVisit: (origin: string) => void
}

const everyRule = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]

/** The accessibility violations that axe finds, one per line, by all rules or some. */
export const barriers = async (
  page: Page,
  rules: ReadonlyArray<string> = everyRule
): Promise<ReadonlyArray<string>> => {
  await page.evaluate(axe.source)
  return page.evaluate(
    `axe.run(document, { runOnly: ${JSON.stringify(rules)} }).then(({ violations }) =>
      violations
        .filter(({ impact }) => impact !== "minor")
        .flatMap(({ id, nodes }) => nodes.map(({ failureSummary, html }) => id + ": " + html + " " + failureSummary)))`
  )
}

export class Console extends Context.Service<
  Console,
  {
    readonly gateway: Gateway
    readonly walk: (view: View, run: (walker: Walker) => Promise<void>) => Effect.Effect<void>
  }
>()("tollgate/test/Console") {
  static readonly layer = (config?: unknown, env?: Readonly<Record<string, string>>) =>
    Layer.effect(
      Console,
      Effect.gen(function* () {
        yield* buildConsole
        const gateway = yield* startGateway({
          ...(config === undefined ? {} : { config }),
          ...(env === undefined ? {} : { env })
        })
        const browser = yield* Effect.acquireRelease(
          Effect.promise(() =>
            chromium.launch({
              executablePath: executable(),
              args: ["--no-sandbox", "--headless", "--disable-gpu", "--disable-background-networking"]
            })
          ),
          (browser) => Effect.promise(() => browser.close())
        )
        return Console.of({
          gateway,
          walk: (view, run) => Effect.promise(() => walkIn(browser, gateway, view, run))
        })
      })
    )
}

const walkIn = async (
  browser: Browser,
  gateway: Gateway,
  { theme, width }: View,
  run: (walker: Walker) => Promise<void>
): Promise<void> => {
  const context = await browser.newContext({
    viewport: { width, height: 900 },
    colorScheme: theme,
    reducedMotion: "reduce",
    baseURL: gateway.url
  })
  context.setDefaultTimeout(20_000)
  const faults: Array<string> = []
  const expected: Array<string> = []
  const origins = [gateway.url]
  const fault = (text: string): void => {
    if (!expected.some((part) => text.includes(part))) faults.push(text)
  }
  const page = await context.newPage()
  page.on("pageerror", (error) => fault(`uncaught: ${error.message}`))
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") fault(`${message.type()}: ${message.text()}`)
  })
  page.on("request", (request) => {
    if (!origins.some((origin) => request.url().startsWith(`${origin}/`))) fault(`asks elsewhere: ${request.url()}`)
    if (request.url().includes(gateway.adminKey)) fault("the admin key is in an address")
  })
  try {
    await run({
      page,
      gateway,
      expectError: (text) => void expected.push(text),
      expectVisit: (origin) => void origins.push(origin)
    })
  } finally {
    await context.close()
  }
  if (faults.length > 0) throw new Error(faults.join("\n"))
}

/** Opens a page with the navigation and waits for its content. */
export const openPage = async (page: Page, title: string): Promise<void> => {
  const menu = page.getByRole("button", { name: "Menu" })
  if (await menu.isVisible()) await menu.click()
  await page.getByRole("navigation").getByRole("link", { name: title, exact: true }).click()
  await page.getByRole("heading", { level: 1, name: title }).waitFor()
  const placeholders = page.locator(".skeleton")
  while ((await placeholders.count()) > 0) await placeholders.first().waitFor({ state: "detached" })
}

/** True if the page scrolls horizontally. */
export const isTooWide = async (page: Page): Promise<boolean> =>
  (await page.evaluate("document.documentElement.scrollWidth > innerWidth")) === true

/** The field for the admin key, below the sign-in methods. */
export const adminKeyField = async (page: Page) => {
  await page.getByText("Operate this gateway with the admin key").click()
  return page.getByLabel("Admin key")
}

/** Signs in with the admin key, and keeps it in the tab where the walk loads further pages. */
export const enter = async (page: Page, gateway: Gateway, path = "/console", keeps = false): Promise<void> => {
  await page.goto(path)
  await (await adminKeyField(page)).fill(gateway.adminKey)
  if (keeps) await page.getByLabel("Keep it until this tab is closed").check()
  await page.getByRole("button", { name: "Open the console" }).click()
  await page.locator("main#content").waitFor()
}
