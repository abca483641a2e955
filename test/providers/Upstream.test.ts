/** The scripted upstream follows its scripts. The other network tests rely on it. */
import { assert, describe, it } from "@effect/vitest"
import { afterAll, beforeAll } from "vitest"
import { startUpstream, type Upstream } from "../support/upstream/Upstream.ts"

let upstream: Upstream
beforeAll(async () => {
  upstream = await startUpstream()
})
afterAll(() => upstream.stop())

const post = (model: string, signal?: AbortSignal): Promise<Response> =>
  fetch(`${upstream.url}/chat/completions?v=1`, {
    method: "POST",
    headers: { "x-test": "1" },
    body: JSON.stringify({ model, n: 1 }),
    ...(signal === undefined ? {} : { signal })
  })

describe("Upstream", () => {
  it("answers by model, one behaviour after the other, and remembers what it was asked", async () => {
    await upstream.script("a", [{ status: 503, headers: { "retry-after": "1" }, body: "x" }, { json: { ok: true } }])
    const first = await post("a")
    assert.deepStrictEqual([first.status, first.headers.get("retry-after"), await first.text()], [503, "1", "x"])
    assert.deepStrictEqual(await (await post("a")).json(), { ok: true })
    assert.deepStrictEqual(await (await post("a")).json(), { ok: true })
    const requests = (await upstream.requests()).filter(({ model }) => model === "a")
    assert.strictEqual(requests.length, 3)
    assert.deepStrictEqual(requests[0]?.body, { model: "a", n: 1 })
    assert.strictEqual(requests[0]?.path, "/v1/chat/completions?v=1")
    assert.strictEqual(requests[0]?.headers["x-test"], "1")
    assert.strictEqual((await post("unknown")).status, 404)
  })

  it("waits at gates, resets, stays silent, and sees a client leave", async () => {
    await upstream.script("gated", { chunks: ["a", { gate: "g" }, "b"] })
    const gated = await post("gated")
    const reader = gated.body?.getReader()
    assert.strictEqual(new TextDecoder().decode((await reader?.read())?.value), "a")
    await upstream.open("g")
    assert.strictEqual(new TextDecoder().decode((await reader?.read())?.value), "b")

    await upstream.script("reset", { ending: "reset_at_once" })
    assert.instanceOf(await post("reset").catch((error: unknown) => error), TypeError)

    await upstream.script("silent", { ending: "silence" })
    const leaving = new AbortController()
    const asked = post("silent", leaving.signal).catch((error: unknown) => error)
    await upstream.until((requests) => requests.some(({ model }) => model === "silent"))
    leaving.abort()
    await asked
    const requests = await upstream.until((all) =>
      all.some(({ closedEarly, model }) => model === "silent" && closedEarly)
    )
    assert.isFalse(requests.find(({ model }) => model === "reset")?.closedEarly)
    assert.isNumber(requests.find(({ model }) => model === "silent")?.closedAtMs)
  })

  it("forgets everything on reset", async () => {
    await upstream.script("gone", { json: 1 })
    await upstream.reset()
    assert.deepStrictEqual(await upstream.requests(), [])
    assert.strictEqual((await post("gone")).status, 404)
  })
})
