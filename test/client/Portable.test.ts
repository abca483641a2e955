/**
 * The client package through its public entry: it depends only on the contract, and not on Node.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { posix } from "node:path"
import { fileURLToPath } from "node:url"
import { runInNewContext } from "node:vm"
import { build } from "vite"
import { readSources } from "../../scripts/sourceFiles.ts"

const root = fileURLToPath(new URL("../../", import.meta.url))
const entry = "src/client/Client.ts"

/** Browser globals that the client may need and the language lacks. */
const ofTheWeb = Object.fromEntries(
  [
    "AbortController AbortSignal Blob FormData Headers ReadableStream Request Response TextDecoder TextEncoder URL",
    "URLSearchParams clearInterval clearTimeout crypto performance queueMicrotask setInterval setTimeout"
  ]
    .flatMap((names) => names.split(" "))
    .map((name) => [name, Reflect.get(globalThis, name)])
)

const chunk = (content: string) => ({
  id: "chatcmpl_1",
  object: "chat.completion.chunk",
  created: 1,
  model: "mock/echo",
  provider: "mock",
  choices: [{ index: 0, delta: { content }, finish_reason: null }]
})

describe("the client package", () => {
  it("is what package.json exports", async () => {
    const { connect, Tollgate, TollgateError } = await import("tollgate/client")
    assert.isFunction(connect)
    assert.isFunction(Tollgate.make)
    assert.isFunction(TollgateError)
  })

  it("imports the contract, the domain and effect, and no more", () => {
    const sources = new Map(readSources(root, "src").map((source) => [source.path, source]))
    const seen = new Set<string>()
    const packages = new Set<string>()
    const visit = (path: string): void => {
      if (seen.has(path)) return
      seen.add(path)
      for (const { specifier } of sources.get(path)?.imports ?? assert.fail(`${path} is not there`)) {
        if (specifier.startsWith(".")) visit(posix.join(posix.dirname(path), specifier))
        else packages.add(specifier)
      }
    }
    visit(entry)
    const strangers = [...seen].filter((path) => !/^src\/(?:client|api|domain)\//.test(path))
    assert.deepStrictEqual(strangers, [])
    assert.isAbove(seen.size, 20)
    assert.deepStrictEqual(
      [...packages].filter((name) => !/^effect(?:\/|$)/.test(name)),
      []
    )
  })

  it.effect("bundled for a browser, it streams where there is nothing of Node", () =>
    Effect.promise(async () => {
      const built = await build({
        configFile: false,
        root,
        logLevel: "silent",
        build: {
          write: false,
          lib: { entry, formats: ["iife"], name: "tollgate" },
          rolldownOptions: { onwarn: (warning) => assert.fail(warning.message) }
        }
      })
      const output = Array.isArray(built) && "output" in (built[0] ?? {}) ? built[0]?.output : undefined
      const code = output?.[0].code ?? assert.fail("nothing was built")
      assert.notInclude(code, "browser-external")
      const events = [chunk("Hello,"), chunk(" browser")].map((data) => `data: ${JSON.stringify(data)}\n\n`)
      const fetch = (url: URL) =>
        Promise.resolve(
          url.href === "https://gateway.example/v1/chat/completions"
            ? new Response(`${events.join("")}data: [DONE]\n\n`, { headers: { "content-type": "text/event-stream" } })
            : new Response("", { status: 404 })
        )
      const said: unknown = await runInNewContext(
        `${code}
        ;(async () => {
          const { chat } = tollgate.connect({ url: "https://gateway.example", apiKey: "a-key" })
          const payload = { model: "mock/echo", messages: [{ role: "user", content: "x" }] }
          let text = ""
          for await (const { choices } of chat.stream({ payload })) text += choices[0].delta.content
          return text
        })()`,
        { ...ofTheWeb, fetch }
      )
      assert.strictEqual(said, "Hello, browser")
    })
  )
})
