/** The documentation as Markdown, and what `/` answers. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestApp } from "../../support/TestApp.ts"

it.effect("/llms.txt lists pages, and each of them is there as Markdown", () =>
  Effect.gen(function* () {
    const { send } = yield* TestApp
    const index = yield* send("/llms.txt")
    assert.strictEqual(index.status, 200)
    assert.match(index.headers.get("content-type") ?? "", /^text\/plain/)
    assert.match(index.text, /^# tollgate\n\n> /)
    const links = [...index.text.matchAll(/\]\((\/docs\/[^)#]+)/g)].map(([, link = ""]) => link)
    assert.isAbove(links.length, 20)
    for (const link of new Set(links)) {
      const page = yield* send(link)
      assert.strictEqual(page.status, 200, link)
      assert.strictEqual(page.headers.get("content-type"), "text/markdown; charset=utf-8", link)
      assert.match(page.text, /^# /, link)
    }
  }).pipe(Effect.provide(TestApp.layer()))
)

it.effect("a page that does not exist is a 404 in the envelope, also outside of the folder", () =>
  Effect.gen(function* () {
    const { send } = yield* TestApp
    for (const path of ["/docs/nowhere.md", "/docs/..%2fpackage.json", "/docs/%2e%2e/package.json"]) {
      const { status, text } = yield* send(path)
      assert.strictEqual(status, 404, path)
      assert.strictEqual((JSON.parse(text) as { error: { type: string } }).error.type, "not_found", path)
    }
  }).pipe(Effect.provide(TestApp.layer()))
)

it.effect("/ leads a browser to the console, and tells a program where the documents are", () =>
  Effect.gen(function* () {
    const { url } = yield* TestApp
    const ask = (accept: string) =>
      Effect.promise(() =>
        fetch(`${url}/`, { headers: { accept }, redirect: "manual" }).then(
          async (response) => [response.status, response.headers.get("location"), await response.text()] as const
        )
      )
    const [status, location] = yield* ask("text/html,application/xhtml+xml")
    assert.deepStrictEqual([status, location], [302, "/console"])
    const [told, , text] = yield* ask("*/*")
    assert.strictEqual(told, 200)
    assert.include(JSON.parse(text), { docs: "/docs", llms: "/llms.txt" })
  }).pipe(Effect.provide(TestApp.layer()))
)
