/** The one-time link that a start on a terminal prints, opened in a browser. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { launchGateway, temporaryDirectory } from "../support/Gateway.ts"
import { Console } from "./browser.ts"

const main = fileURLToPath(new URL("../../src/main.ts", import.meta.url))

/** A gateway in a terminal of its own, as `script` of util-linux makes one, and what it printed. */
const inTerminal = Effect.fnUntraced(function* (directory: string, env: Readonly<Record<string, string>> = {}) {
  const { NODE_COMPILE_CACHE = "", PATH = "" } = process.env
  const { child, closed } = yield* Effect.acquireRelease(
    Effect.sync(() => {
      const child = spawn("script", ["-qefc", `exec '${process.execPath}' '${main}'`, "/dev/null"], {
        cwd: directory,
        env: { PATH, HOME: directory, NODE_COMPILE_CACHE, TOLLGATE_PORT: "0", TOLLGATE_SHUTDOWN_GRACE_MS: "0", ...env },
        stdio: ["pipe", "pipe", "inherit"]
      })
      return { child, closed: once(child, "close") }
    }),
    ({ child, closed }) =>
      Effect.promise(async () => {
        child.kill("SIGTERM")
        await closed
      })
  )
  return yield* Effect.promise(async () => {
    let printed = ""
    child.stdout.setEncoding("utf8").on("data", (text: string) => void (printed += text))
    const ended = closed.then(() => Promise.reject(new Error(`it ended: ${printed}`)))
    ended.catch(() => undefined)
    while (!printed.includes("/v1/models")) await Promise.race([once(child.stdout, "data"), ended])
    return printed
  })
})

layer(Console.layer(), { timeout: "90 seconds" })("a sign-in link", (it) => {
  it.effect(
    "opens the console once, leaves the address, stays for a reload, and is refused the second time",
    () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const printed = yield* inTerminal(directory)
        const link = /http:\S+\/console#sign-in=[\w-]{43}/.exec(printed)?.[0] ?? assert.fail(printed)
        const { origin } = new URL(link)
        const adminKey = readFileSync(join(directory, ".tollgate", "admin.key"), "utf8").trim()
        assert.notInclude(printed, adminKey)
        const { walk } = yield* Console
        yield* walk({ width: 1_440, theme: "light" }, async ({ expectError, expectVisit, page }) => {
          expectVisit(origin)
          const asked: Array<string> = []
          page.on("request", (request) => void asked.push(request.url()))
          await page.goto(link)
          await page.getByText("Operator, by admin key").waitFor()
          assert.strictEqual(page.url(), `${origin}/console`)
          const addresses = asked.map((address) => address.replace(/#.*/, "")).join("\n")
          assert.notInclude(addresses, link.slice(-43))
          assert.notInclude(addresses, adminKey)
          await page.reload()
          await page.getByText("Operator, by admin key").waitFor()

          await page.getByRole("button", { name: "Forget the key" }).click()
          await page.getByRole("heading", { name: "Sign in" }).waitFor()
          expectError("401")
          // The console is open already, so the browser only changes the fragment.
          await page.goto(link)
          await page.getByText("This link was used, or is older than ten minutes.").waitFor()
          assert.strictEqual(page.url(), `${origin}/console`)
        })
      }),
    120_000
  )

  it.effect(
    "is printed neither in production nor where no terminal shows it",
    () =>
      Effect.gen(function* () {
        const directory = yield* temporaryDirectory
        const safe = yield* temporaryDirectory
        writeFileSync(join(safe, "tollgate.yaml"), "auth:\n  channels: []\n")
        const production = yield* inTerminal(safe, {
          TOLLGATE_ENV: "production",
          TOLLGATE_ADMIN_KEY: "tga-Zk3vQ9xT1mB7nR5wL2cY8dH4pJ6sG0aF-x8K1uE",
          OPENAI_API_KEY: "sk-nobody-calls-it"
        })
        assert.include(production, "/console")
        assert.notInclude(production, "#sign-in")
        const elsewhere = yield* launchGateway({ directory, env: { TOLLGATE_LOG_FORMAT: "pretty" } })
        assert.notInclude(yield* Effect.orDie(elsewhere.printed("/v1/models")), "#sign-in")
      }),
    120_000
  )
})
