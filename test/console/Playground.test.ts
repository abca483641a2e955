/**
 * The playground: a thread that stays in the tab, answers as Markdown, pictures, models side by
 * side, and keys that are given back.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { type Page } from "playwright-core"
import { eventually, type Gateway } from "../support/Gateway.ts"
import { chatBody, DONE, errorBody, sse, chunkBody, streamChunks, usageChunkBody } from "../support/upstream/Bodies.ts"
import { startUpstream, type Upstream } from "../support/upstream/Upstream.ts"
import { barriers, Console, enter, isTooWide, openPage, type View, type Walker } from "./browser.ts"

const wide: View = { width: 1_440, theme: "light" }

class Provider extends Context.Service<Provider, Upstream>()("tollgate/test/console/Provider") {}

const provider = (slug: string, base_url: string, models: ReadonlyArray<readonly [string, number]>) => ({
  slug,
  dialect: "openai",
  base_url,
  api_key: "sk-of-a-provider",
  models: models.map(([name, price]) => ({
    id: `acme/${name}`,
    upstream: name,
    pricing: { prompt: price, completion: 4 * price }
  }))
})

const world = Layer.unwrap(
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(() => startUpstream()),
      (upstream) => Effect.promise(() => upstream.stop())
    ),
    (upstream) =>
      Layer.merge(
        Layer.succeed(Provider, upstream),
        Console.layer({
          providers: [
            provider("alpha", upstream.url, [
              ["dear", 0.1],
              ["small", 0.01]
            ]),
            provider("beta", upstream.url, [["broken", 0.05]])
          ],
          routing: { retries: 0 }
        })
      )
  )
)

const picture = {
  name: "dot.png",
  mimeType: "image/png",
  buffer: Buffer.from(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    "base64"
  )
}

const borrow = (page: Page) => page.getByRole("button", { name: "Make a key for an hour" }).click()
const prompt = (page: Page) => page.getByRole("textbox", { name: "Prompt" })
const message = (page: Page, number: number) => page.getByRole("article", { name: `Message ${number}` })
const press = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).click()

/** The live keys that the console has borrowed. */
const borrowed = (gateway: Gateway) =>
  Effect.map(
    gateway.send("/v1/keys?search=console%20playground&limit=1000", { headers: { "x-admin-key": gateway.adminKey } }),
    ({ text }) =>
      (JSON.parse(text).data as ReadonlyArray<{ readonly status: string }>).filter(({ status }) => status === "active")
        .length
  )

const borrows = (gateway: Gateway, count: number, when: string) =>
  Effect.runPromise(
    eventually(
      Effect.filterOrFail(borrowed(gateway), (found) => found === count),
      20_000,
      `${count} borrowed keys ${when}`
    )
  )

layer(world, { timeout: "90 seconds" })("the playground", (it) => {
  const walks = (title: string, view: View, run: (walker: Walker, upstream: Upstream) => Promise<void>) =>
    it.effect(
      title,
      () =>
        Effect.gen(function* () {
          const upstream = yield* Provider
          const { walk } = yield* Console
          yield* Effect.promise(() => upstream.reset())
          yield* walk(view, (walker) => run(walker, upstream))
        }),
      60_000
    )

  walks(
    "keeps a thread in the tab: sent in three clicks, edited, stopped, reloaded",
    wide,
    async (walker, upstream) => {
      const { gateway, page } = walker
      const last = async () => (await upstream.requests()).at(-1)?.body as { readonly messages: unknown }
      await upstream.script("small", [
        { chunks: streamChunks(["Hel", "lo **you**"]) },
        { chunks: streamChunks(["Again"]) },
        { chunks: [sse(chunkBody({ content: "Part" })), { gate: "never" }] },
        { chunks: streamChunks(["Edited"]) }
      ])
      await enter(page, gateway)
      // Three clicks and a prompt: the page, a key, Send. The cheapest model is chosen.
      await page.getByRole("navigation").getByRole("link", { name: "Playground" }).click()
      await borrow(page)
      await page.getByLabel("Model").getByText("acme/small · $0.01 / $0.04").waitFor({ state: "attached" })
      assert.strictEqual(await page.getByLabel("Model").inputValue(), "acme/small")
      await prompt(page).fill("One")
      await press(page, "Send")
      const first = message(page, 1)
      await first.getByText(/finish reason stop · alpha · first token .* · 9 \+ 5 tokens · \$/).waitFor()
      assert.strictEqual(await first.locator(".markdown strong").textContent(), "you")

      await prompt(page).fill("Two")
      await page.keyboard.press("Control+Enter")
      await message(page, 2).getByText("Again").waitFor()
      const turns = [
        { role: "user", content: "One" },
        { role: "assistant", content: "Hello **you**" },
        { role: "user", content: "Two" }
      ]
      assert.deepStrictEqual((await last()).messages, turns)
      await press(page, "Route")
      const route = page.getByRole("table", { name: "Candidates, in the order of calling" })
      await route.getByText("1. alpha").waitFor()
      await press(page, "As code")
      for (const [language, part] of [
        ["curl", '-H "Authorization: Bearer $TOLLGATE_API_KEY"'],
        ["TypeScript", '`${process.env["TOLLGATE_URL"]}/v1`'],
        ["Python", 'os.environ["TOLLGATE_URL"] + "/v1"']
      ] as const) {
        await press(page, language)
        const code = (await page.getByRole("region", { name: `The request as ${language}` }).textContent()) ?? ""
        for (const text of [part, "Hello **you**", `TOLLGATE_URL=${gateway.url}`]) assert.include(code, text)
      }

      await message(page, 2).getByRole("button", { name: "Regenerate" }).click()
      await message(page, 2).getByText("Part").waitFor()
      await press(page, "Stop")
      await message(page, 2)
        .getByText(/^stopped/)
        .waitFor()
      await message(page, 1).getByRole("button", { name: "Edit" }).click()
      await page.getByLabel("Edited message").fill("Uno")
      await press(page, "Resend")
      await message(page, 1).getByText("Edited").waitFor()
      assert.strictEqual(await message(page, 2).count(), 0)
      assert.deepStrictEqual((await last()).messages, [{ role: "user", content: "Uno" }])
      await prompt(page).fill("not sent yet")

      await message(page, 1).getByRole("link", { name: "Open receipt" }).click()
      await page.getByRole("heading", { name: "Attempts" }).waitFor()
      await page.goBack()
      await message(page, 1).getByText("Edited").waitFor()
      await enter(page, gateway, "/console/playground?model=acme/dear")
      await message(page, 1).getByText("Uno").waitFor()
      assert.strictEqual(await prompt(page).inputValue(), "not sent yet")
      assert.strictEqual(new URL(page.url()).search, "")
      await borrow(page)
      await page.getByLabel("Model").getByText("acme/dear").waitFor({ state: "attached" })
      assert.strictEqual(await page.getByLabel("Model").inputValue(), "acme/dear")
      await message(page, 1).getByRole("button", { name: "Delete" }).click()
      await page.getByText("No messages yet").waitFor()
      await press(page, "Forget the key")
      await page.getByRole("heading", { name: "Sign in" }).waitFor()
      assert.strictEqual(await page.evaluate("sessionStorage.length"), 0)
    }
  )

  walks("draws a hostile answer as text, and a long one without a halt", wide, async ({ gateway, page }, upstream) => {
    const hostile = [
      "# One\n\n### Three\n\n<script>document.title = 'taken'</script><img src=x onerror=\"document.title='taken'\">",
      "[bad](javascript:document.title='taken') [data](data:text/html,x) [good](https://example.org/a) ![far](https://example.org/i.png)",
      "| a | b |\n|---|---|\n| `1` | ~~2~~ |\n\n> quoted\n\n3. three\n   - inner",
      Array.from({ length: 300 }, (_, depth) => `${" ".repeat(2 * depth)}- deep`).join("\n"),
      "*[`_".repeat(2_000),
      "```js\nconst answer = 42\n```",
      "```\nnever closed"
    ]
    const long = Array.from(
      { length: 1_000 },
      (_, index) => `${index}. Item **${index}** of a list that \`grows\`, [on](https://example.org).\n`
    )
    await upstream.script("small", [
      { chunks: streamChunks(hostile.map((part) => `${part}\n\n`)) },
      {
        chunks: [
          ...long.map((content) => sse(chunkBody({ content }))),
          sse(chunkBody({ content: "# The end" }, "stop")),
          sse(usageChunkBody()),
          DONE
        ]
      }
    ])
    await enter(page, gateway, "/console/playground")
    // Nothing can be sent before the models are there.
    const isListed = Promise.withResolvers<void>()
    await page.route("**/v1/models", async (route) => {
      await isListed.promise
      await route.continue()
    })
    await borrow(page)
    await page.getByText("Calling with").waitFor()
    await prompt(page).fill("Attack")
    assert.strictEqual(await page.getByRole("button", { name: "Send" }).getAttribute("aria-disabled"), "true")
    isListed.resolve()
    await press(page, "Send")
    const markdown = message(page, 1).locator(".markdown")
    await message(page, 1)
      .getByText(/finish reason stop/)
      .waitFor()
    assert.strictEqual(await page.title(), "Playground · tollgate")
    assert.strictEqual(await markdown.locator("script, img, iframe").count(), 0)
    assert.deepStrictEqual(
      await page.evaluate(
        "[...document.querySelectorAll('.markdown a')].map(({ href, rel, target, textContent }) => [textContent, href, rel, target])"
      ),
      [
        ["good", "https://example.org/a", "noopener noreferrer nofollow", "_blank"],
        ["Image: far", "https://example.org/i.png", "noopener noreferrer nofollow", "_blank"]
      ]
    )
    assert.deepStrictEqual(await markdown.locator("h3, h4, h5, h6").allTextContents(), ["One", "Three"])
    assert.deepStrictEqual(await markdown.locator("th, td").allTextContents(), ["a", "b", "1", "2"])
    assert.deepStrictEqual(await markdown.locator("pre").allTextContents(), ["const answer = 42", "never closed\n"])
    assert.strictEqual(await markdown.locator("ol[start='3'] ul li").textContent(), "inner")
    await markdown.getByRole("button", { name: "Copy the code, js" }).click()
    await page.getByText("Copied").waitFor()
    assert.deepStrictEqual(await barriers(page), [])

    await press(page, "Clear the thread")
    await page.evaluate(
      "window.longest = 0; new PerformanceObserver((list) => { for (const { duration } of list.getEntries()) window.longest = Math.max(window.longest, duration) }).observe({ type: 'longtask' })"
    )
    await prompt(page).fill("Much")
    await press(page, "Send")
    await page.getByRole("heading", { name: "The end" }).waitFor()
    assert.strictEqual(await message(page, 1).locator(".markdown li").count(), 1_000)
    assert.isBelow(Number(await page.evaluate("window.longest")), 2_000)
  })

  walks("compares three models, of which one fails", { width: 1_440, theme: "dark" }, async (walker, upstream) => {
    const { expectError, gateway, page } = walker
    expectError("502")
    expectError("503")
    await upstream.script("small", { chunks: streamChunks(["Small says so"]) })
    await upstream.script("dear", { chunks: streamChunks(["Dear says so"]) })
    await upstream.script("broken", { status: 401, json: errorBody("Your account was closed in May.") })
    await enter(page, gateway, "/console/playground")
    await borrow(page)
    await press(page, "Compare with another model")
    await press(page, "Compare with another model")
    assert.strictEqual(await page.getByRole("button", { name: "Compare with another model" }).count(), 0)
    await prompt(page).fill("Who are you?")
    await press(page, "Send")
    const column = (name: string) => message(page, 1).getByRole("region", { name: `acme/${name}` })
    for (const name of ["small", "dear"]) {
      await column(name).getByText(`${name} says so`).waitFor()
      await column(name)
        .getByText(/alpha · first token .* · whole .* · 9 \+ 5 tokens · \$/)
        .waitFor()
      await column(name).getByRole("link", { name: "Open receipt" }).waitFor()
    }
    const failed = column("broken")
    await failed.getByText("beta refused our key", { exact: false }).first().waitFor()
    const attempts = failed.getByRole("list", { name: "Attempts" })
    await attempts.getByText("credentials refused, HTTP 401").waitFor()
    await attempts.getByText("Your account was closed in May.").waitFor()
    await failed.getByRole("link", { name: "Open receipt" }).waitFor()
    const places = () => Promise.all(["small", "broken", "dear"].map((name) => column(name).boundingBox()))
    const beside = await places()
    assert.lengthOf(new Set(beside.map((box) => box?.y)), 1)
    assert.deepStrictEqual(await barriers(page), [])
    await page.setViewportSize({ width: 390, height: 800 })
    const below = await places()
    assert.lengthOf(new Set(below.map((box) => box?.x)), 1)
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme })
      assert.deepStrictEqual(await barriers(page), [])
    }
    assert.isFalse(await isTooWide(page))

    // The next message goes on with the answer of each model.
    await prompt(page).fill("And you?")
    await press(page, "Send")
    await message(page, 2).getByText("Dear says so").waitFor()
    await page.waitForFunction("document.querySelector('.thread-end').getBoundingClientRect().top < innerHeight")
    const sent = await upstream.until((requests) => requests.length === 5)
    const turns = sent
      .slice(3)
      .map(({ body, model }) => [
        model,
        (body as { messages: ReadonlyArray<{ content: string }> }).messages.map(({ content }) => content)
      ])
    assert.sameDeepMembers(turns, [
      ["small", ["Who are you?", "Small says so", "And you?"]],
      ["dear", ["Who are you?", "Dear says so", "And you?"]]
    ])
  })

  walks(
    "sends pictures and parameters, and marks those that are refused",
    { width: 390, theme: "light" },
    async (walker, upstream) => {
      const { expectError, gateway, page } = walker
      expectError("422")
      await upstream.script("small", { json: chatBody({ content: "A dot" }) })
      await enter(page, gateway, "/console/playground")
      await borrow(page)
      const picker = page.getByLabel("Pictures")
      await picker.setInputFiles({ ...picture, name: "notes.txt", mimeType: "text/plain" })
      await page.getByText("notes.txt is no PNG, JPEG, WebP or GIF picture.").waitFor()
      const large = { ...picture, buffer: Buffer.alloc(990_000) }
      await picker.setInputFiles([large, large, large, large])
      await page.getByText("These pictures do not fit: the thread would have 5.3 MB, at most 4.0 MB.").waitFor()
      assert.strictEqual(await page.locator(".pictures").count(), 0)
      await picker.setInputFiles(picture)
      await page.getByText(/The catalogue lists no pictures for acme\/small/).waitFor()
      await page.evaluate(`(() => {
      const files = new DataTransfer()
      files.items.add(new File([Uint8Array.from(atob("${picture.buffer.toString("base64")}"), (c) => c.charCodeAt(0))], "pasted.png", { type: "image/png" }))
      document.querySelector("textarea").dispatchEvent(new ClipboardEvent("paste", { clipboardData: files, bubbles: true, cancelable: true }))
      document.querySelector(".composer").dispatchEvent(new DragEvent("drop", { dataTransfer: files, bubbles: true, cancelable: true }))
    })()`)
      await page.getByRole("img", { name: "pasted.png" }).nth(1).waitFor()
      await prompt(page).fill("What is it?")

      for (const group of ["Parameters", "Providers", "More, as JSON"])
        await page.locator("summary", { hasText: group }).click()
      await page.getByLabel("Temperature").fill("3")
      await page.getByLabel("Seed").fill("7")
      await page.getByLabel("Stream").uncheck()
      const json = page.getByLabel("Further members of the request")
      await json.fill('{"user": }')
      await page.getByText(/This is not JSON/).waitFor()
      assert.strictEqual(await page.getByRole("button", { name: "Send" }).getAttribute("aria-disabled"), "true")
      await json.fill('{"user": "me", "top_logprobs": 99}')
      const { height = 0, y = 0 } = (await page.getByRole("button", { name: "Send" }).boundingBox()) ?? {}
      assert.isTrue(y > 0 && y + height <= 900, "Send is out of view")
      assert.isFalse(await isTooWide(page))
      assert.deepStrictEqual(await barriers(page), [])
      await press(page, "Send")
      await message(page, 1).getByText("The gateway refused temperature, top_logprobs.").waitFor()
      const found = message(page, 1).getByRole("link", { name: "Find it in the requests" })
      assert.match((await found.getAttribute("href")) ?? "", /^\/console\/requests\?q=req_/)
      await page.locator(".field.wrong", { hasText: "Temperature" }).waitFor()
      await page.locator(".field.wrong", { hasText: "top_logprobs" }).waitFor()
      await page.getByLabel("Temperature").fill("0.5")
      assert.strictEqual(await page.locator(".field.wrong").count(), 0)
      await json.fill('{"user": "me"}')
      await message(page, 1).getByRole("button", { name: "Try again" }).click()
      await message(page, 1).getByText("A dot").waitFor()
      const sent = (await upstream.requests()).at(-1)?.body as {
        readonly messages: ReadonlyArray<{ readonly content: ReadonlyArray<unknown> }>
      }
      const url = `data:image/png;base64,${picture.buffer.toString("base64")}`
      assert.deepInclude(sent as object, { temperature: 0.5, seed: 7, user: "me" })
      assert.deepStrictEqual(sent.messages[0]?.content, [
        { type: "text", text: "What is it?" },
        ...Array.from({ length: 3 }, () => ({ type: "image_url", image_url: { url } }))
      ])
    }
  )

  walks(
    "gives borrowed keys back: over reloads, for another one, at the end of the tab",
    wide,
    async ({ gateway, page }) => {
      await enter(page, gateway, "/console/playground")
      const before = await Effect.runPromise(borrowed(gateway))
      for (const _ of [1, 2]) {
        await borrow(page)
        await prompt(page).waitFor()
        await page.getByText("Calling with").waitFor()
        await borrows(gateway, before + 1, "after making one")
        await enter(page, gateway, "/console/playground")
        await borrows(gateway, before, "after a reload")
      }
      await borrow(page)
      await page.getByText("Calling with").waitFor()
      // Other pages of the console do not end it.
      await openPage(page, "Privacy")
      await press(page, "Use another key")
      await borrow(page)
      await page.getByText("Calling with").waitFor()
      await borrows(gateway, before + 1, "after making another")
      await page.close({ runBeforeUnload: true })
      await borrows(gateway, before, "after closing the tab")
    }
  )
})
