/**
 * Providers and models in the console: who is down and why, its traffic, the history after a
 * restart, a gateway that is gone, and the catalogue of a user.
 */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { readFileSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { type AddressInfo } from "node:net"
import { join } from "node:path"
import { type Page } from "playwright-core"
import { type ProviderDetails } from "../../src/api/Providers.ts"
import { eventually, type Gateway, startGateway } from "../support/Gateway.ts"
import { barriers, Console, enter, isTooWide, openPage } from "./browser.ts"

const wide = { width: 1_440, theme: "light" } as const

/** A provider that refuses every key, in its own words. */
const refusing = Effect.acquireRelease(
  Effect.promise(async () => {
    const server = createServer((request, response) => {
      request.resume()
      response.writeHead(401, { "content-type": "application/json" })
      response.end(JSON.stringify({ error: { message: "Incorrect API key provided.", code: "invalid_api_key" } }))
    })
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done))
    return server
  }),
  (server) => Effect.sync(() => void server.close())
)

const free = { training: false, retains_prompts: false, retention_days: 0, zdr: true }

const world = Layer.unwrap(
  Effect.map(refusing, (server) => {
    const openai = (slug: string, id: string, port: number) => ({
      slug,
      name: slug,
      dialect: "openai",
      base_url: `http://127.0.0.1:${port}/v1`,
      api_key: "sk-of-the-tests",
      models: [{ id, upstream: "echo", context_length: 8_000, pricing: { prompt: 2.5, completion: 10 } }]
    })
    return Console.layer({
      providers: [
        {
          slug: "alpha",
          name: "Alpha Cloud",
          dialect: "mock",
          data_policy: free,
          models: [
            { id: "acme/small", upstream: "echo", context_length: 32_000, pricing: { prompt: 0.15, completion: 0.6 } },
            { id: "acme/tiny", upstream: "echo", context_length: 8_000, pricing: { prompt: 0.005, completion: 0.01 } }
          ]
        },
        openai("down", "acme/down", 1),
        openai("locked", "acme/locked", (server.address() as AddressInfo).port)
      ]
    })
  })
)

const run = Effect.runPromise

const detailsOf = (gateway: Gateway, slug: string) =>
  Effect.map(
    gateway.send(`/v1/admin/providers/${slug}`, { headers: { "x-admin-key": gateway.adminKey } }),
    ({ text }) => JSON.parse(text) as ProviderDetails
  )

/** Calls that open the circuits, and the one of `down` in the history. */
const provoke = (gateway: Gateway) =>
  Effect.gen(function* () {
    const [first, second] = [yield* gateway.issueKey(), yield* gateway.issueKey()]
    const call = (model: string, { key } = first) =>
      gateway.send("/v1/chat/completions", { key, body: { model, messages: [{ role: "user", content: "Hi" }] } })
    yield* call("acme/small")
    for (let count = 0; count < 5; count++) yield* call("acme/down")
    // Refused for two keys, it is locked for all.
    for (const key of [first, second]) yield* call("acme/locked", key)
    yield* eventually(
      Effect.filterOrFail(detailsOf(gateway, "down"), ({ calls, outages }) => outages.length === 1 && calls >= 5),
      20_000,
      "the history of the circuit"
    )
  })

const row = (page: Page, text: string, table = "Providers") =>
  page.getByRole("table", { name: table }).locator("tbody tr", { hasText: text })

layer(world, { timeout: "90 seconds" })("providers and models", (it) => {
  const walks = (
    title: string,
    view: Parameters<Console["Service"]["walk"]>[0],
    walk: Parameters<Console["Service"]["walk"]>[1]
  ) => it.effect(title, () => Effect.flatMap(Console, (console) => console.walk(view, walk)), 90_000)

  walks("a provider is down: seen at once, and its traffic in two clicks", wide, async ({ gateway, page }) => {
    await run(provoke(gateway))
    await enter(page, gateway)
    const health = page.locator(".health")
    await health.getByText("degraded").waitFor()
    await health
      .getByText(/gets no calls since/)
      .first()
      .waitFor()
    assert.match((await row(page, "down").textContent()) ?? "", /open.*unreachable.*opened once in 24 h/)
    await health.getByRole("link", { name: "locked" }).click()
    await page.getByRole("heading", { level: 1, name: "locked" }).waitFor()
    const outage = row(page, "still open", "History of circuits")
    assert.match((await outage.textContent()) ?? "", /all.*key refused \(401\).*Incorrect API key provided/)
    await page.getByRole("link", { name: "Its requests" }).click()
    await page.getByRole("heading", { name: "2 requests" }).waitFor()
    assert.strictEqual(new URL(page.url()).search, "?provider=locked")
    for (const text of await page.getByRole("table", { name: "Requests" }).locator("tbody tr").allTextContents())
      assert.include(text, "acme/locked")
  })

  walks("each provider says why: a refused key in its words, those in trouble first", wide, async (walker) => {
    const { gateway, page } = walker
    await enter(page, gateway, "/console/providers")
    const rows = page.getByRole("table", { name: "Providers" }).locator("tbody tr")
    await rows.nth(2).waitFor()
    assert.match((await rows.nth(2).textContent()) ?? "", /^Alpha Cloud.*closed.*100\s%.*of 1 call/)
    const { calls } = await run(detailsOf(gateway, "locked"))
    assert.match((await row(page, "locked").textContent()) ?? "", new RegExp(`${calls} key refused \\(401\\)`))
    const strip = row(page, "locked").getByRole("img")
    assert.match((await strip.getAttribute("aria-label")) ?? "", /0\s%.*Failures in the hours from/)
    await page.getByRole("button", { name: "Provider", exact: true }).click()
    await page.waitForURL("**/providers?sort=name")
    assert.match((await rows.first().textContent()) ?? "", /^Alpha Cloud/)
    await row(page, "locked").getByRole("link", { name: "locked", exact: true }).click()
    await page.getByText("Incorrect API key provided.").first().waitFor()
  })

  walks("an operator adds a provider: a refused key is said, and the models have prices", wide, async (walker) => {
    const { gateway, page } = walker
    const file = join(gateway.directory, "tollgate.yaml")
    const { providers } = JSON.parse(readFileSync(file, "utf8")) as { readonly providers: ReadonlyArray<object> }
    writeFileSync(file, `providers:\n${providers.map((each) => `  - ${JSON.stringify(each)}\n`).join("")}`)
    const keys: Array<string | undefined> = []
    const server = createServer((request, response) => {
      keys.push(request.headers.authorization)
      const isRefused = request.headers.authorization !== "Bearer sk-right"
      response.writeHead(isRefused ? 401 : 200, { "content-type": "application/json" })
      response.end(JSON.stringify({ data: [{ id: "small", context_length: 8_000 }] }))
    })
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done))
    try {
      await enter(page, gateway, "/console/providers")
      await page.getByRole("button", { name: "Add a provider" }).click()
      const dialog = page.getByRole("dialog")
      await dialog.getByLabel("Vendor").selectOption({ label: "Another server" })
      await dialog.getByLabel("Slug").fill("gamma")
      await dialog.getByLabel("Address").fill(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`)
      await dialog.getByLabel("Key", { exact: true }).fill("sk-wrong")
      await dialog.getByRole("button", { name: "Test" }).click()
      await dialog.getByText("does not accept the key (status 401)").waitFor()
      await dialog.getByLabel("Key", { exact: true }).fill("sk-right")
      await dialog.getByRole("button", { name: "Test" }).click()
      await dialog.getByText("accepts the key.").waitFor()
      await dialog.getByLabel("of the prompt, small").fill("0.15")
      await dialog.getByLabel("of the completion, small").fill("0.6")
      assert.deepStrictEqual(await barriers(page), [])
      await dialog.getByRole("button", { name: "Add", exact: true }).click()
      await row(page, "gamma").waitFor()
      const written = readFileSync(file, "utf8")
      assert.include(written, "api_key: ${sealed:gamma}")
      assert.notInclude(written, "sk-right")
      assert.deepStrictEqual(keys, ["Bearer sk-wrong", "Bearer sk-right", "Bearer sk-right"])
      const removed = await run(
        gateway.send("/v1/admin/providers/gamma", { method: "DELETE", headers: { "x-admin-key": gateway.adminKey } })
      )
      assert.strictEqual(removed.status, 200)
    } finally {
      server.close()
      writeFileSync(file, JSON.stringify({ providers }))
    }
  })

  walks("a user finds the cheapest model with its data policy, and tries it", wide, async ({ page }) => {
    await page.goto("/console/models")
    await page.getByLabel("E-mail address").fill("reader@example.com")
    await page.getByRole("button", { name: "Send me a code" }).click()
    await page.getByRole("button", { name: "Take the code from its mailbox" }).click()
    await page.getByText("The code is filled in").waitFor()
    await page.getByRole("button", { name: "Sign in" }).click()
    const rows = page.getByRole("table", { name: "Models" }).locator("tbody tr")
    await rows.nth(3).waitFor()
    assert.match((await rows.first().textContent()) ?? "", /^acme\/tiny\$0\.005\$0\.018,000/)
    // Without those of the mock.
    await page.getByRole("searchbox", { name: "Search" }).fill("acme")
    await page.getByLabel("Data policy").selectOption("zdr")
    await page.getByRole("heading", { name: "2 of 7 models" }).waitFor()
    await page.getByRole("button", { name: "Context" }).click()
    assert.deepStrictEqual(Object.fromEntries(new URL(page.url()).searchParams), {
      q: "acme",
      policy: "zdr",
      sort: "-context"
    })
    await page.reload()
    await page.getByRole("heading", { name: "2 of 7 models" }).waitFor()
    assert.match((await rows.first().textContent()) ?? "", /^acme\/small/)
    await rows.first().getByRole("link", { name: "acme/small", exact: true }).click()
    await page.getByText("keeps nothing, trains on nothing").waitFor()
    assert.strictEqual(await page.getByRole("link", { name: "Alpha Cloud" }).count(), 0)
    const tries = page.getByRole("link", { name: "Try it" })
    assert.strictEqual(await tries.getAttribute("href"), "/console/playground?model=acme%2Fsmall")
    await tries.click()
    await page.getByRole("heading", { level: 1, name: "Playground" }).waitFor()
  })

  for (const { theme, width } of [
    { width: 390, theme: "dark" },
    { width: 1_440, theme: "light" }
  ] as const) {
    walks(`keeps nobody out at ${width} px, ${theme}`, { width, theme }, async ({ gateway, page }) => {
      await enter(page, gateway)
      for (const title of ["Overview", "Providers", "Models"]) {
        await openPage(page, title)
        assert.deepStrictEqual(await barriers(page), [], title)
        assert.isFalse(await isTooWide(page), `${title} is wider than the window`)
        if (title === "Overview") continue
        const isProviders = title === "Providers"
        await row(page, isProviders ? "locked" : "acme/small", title)
          .getByRole("link")
          .first()
          .click()
        await page.getByRole("table", { name: isProviders ? "History of circuits" : "Providers" }).waitFor()
        assert.deepStrictEqual(await barriers(page), [], `one of ${title}`)
        assert.isFalse(await isTooWide(page), `one of ${title} is wider than the window`)
      }
    })
  }

  walks("a gateway that is gone is not ok; started again, it knows what happened", wide, async (walker) => {
    const { expectError, gateway, page } = walker
    await enter(page, gateway)
    await page.locator(".health").getByText("version").waitFor()
    expectError("net::ERR_")
    await run(
      Effect.scoped(
        Effect.gen(function* () {
          yield* gateway.kill
          yield* Effect.promise(() => page.locator(".health").getByText("not answering").waitFor())
          const { port } = new URL(gateway.url)
          const again = yield* startGateway({ directory: gateway.directory, env: { TOLLGATE_PORT: port } })
          const { calls, outages, state, uptime } = yield* eventually(
            Effect.filterOrFail(detailsOf(again, "down"), (found) => found.outages[0]?.closed_by === "restart"),
            20_000,
            "the end of the outage"
          )
          assert.deepStrictEqual([state, uptime, outages.length], ["closed", 0, 1])
          assert.isAtLeast(calls, 5)
          yield* Effect.promise(async () => {
            await page.locator(".health").getByText("version").waitFor()
            assert.match((await row(page, "down").textContent()) ?? "", /failing/)
            await row(page, "down").getByRole("link").first().click()
            const past = row(page, "the gateway restarted", "History of circuits")
            await past.first().waitFor()
            assert.match((await past.last().textContent()) ?? "", /unreachable/)
          })
        })
      )
    )
  })
})
