/** `tollgate providers add`, `test`, `set-key`, `remove` and `presets` against a gateway. */
import { assert, it, vi } from "@effect/vitest"
import { Effect } from "effect"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { startGateway } from "../support/Gateway.ts"
import { startUpstream } from "../support/upstream/Upstream.ts"
import { line } from "./line.ts"

/** Starts processes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 120_000 })

const secret = "sk-s3cr3t-of-the-line"

it.live("a provider is tested, added, given another key and removed from the command line", () =>
  Effect.gen(function* () {
    const upstream = yield* Effect.acquireRelease(
      Effect.promise(() => startUpstream()),
      (server) => Effect.promise(() => server.stop())
    )
    const gateway = yield* startGateway({ secrets: [secret], env: { ACME_KEY: secret } })
    const file = join(gateway.directory, "tollgate.yaml")
    const said = (args: ReadonlyArray<string>, stdin?: string) =>
      line(
        ["providers", ...args, "--url", gateway.url, "--admin-key", gateway.adminKey],
        stdin === undefined ? {} : { stdin }
      ).pipe(
        Effect.tap(({ stderr, stdout }) =>
          Effect.sync(() => assert.notInclude(stdout.replace("${sealed:", "") + stderr, "s3cr3t"))
        )
      )
    const acme = ["--slug", "acme", "--base-url", upstream.url]

    yield* Effect.promise(() => upstream.script("", { status: 401, json: {} }))
    const refused = yield* said(["test", ...acme], `${secret}\n`)
    assert.deepStrictEqual([refused.code, refused.stdout], [1, ""])
    assert.include(refused.stderr, "does not accept the key (status 401)")

    yield* Effect.promise(() => upstream.script("", { json: { data: [{ id: "small" }] } }))
    const tested = yield* said(["test", ...acme], secret)
    assert.match(tested.stdout, /acme: 127\.0\.0\.1:\d+ answers in \d+ ms and accepts the key\./)
    assert.match(tested.stdout, /acme\/small +small +- +- +- +yes/)

    const unpriced = yield* said(["add", ...acme], secret)
    assert.strictEqual(unpriced.code, 1)
    assert.include(unpriced.stderr, "does not say its prices")
    assert.isFalse(existsSync(file))
    const added = yield* said(["add", ...acme, "--model", "small=0.15/0.60"], secret)
    assert.strictEqual(added.code, 0, added.stderr)
    assert.include(added.stdout, "acme serves now, with 1 model.")
    assert.include(readFileSync(file, "utf8"), "pricing: { prompt: 0.15, completion: 0.6 }")
    assert.include((yield* said(["acme"])).stdout, "acme/small")

    const twice = yield* said(["add", ...acme, "--no-key"])
    assert.include(twice.stderr, "There is a provider acme already")
    const changed = yield* said(["set-key", "acme", "--key-env", "ACME_KEY"])
    assert.include(changed.stdout, "acme uses the new key.")
    assert.include(readFileSync(file, "utf8"), "api_key: ${ACME_KEY}")
    assert.include((yield* said(["remove", "acme"])).stdout, "acme is removed.")
    assert.strictEqual(readFileSync(file, "utf8"), "providers:\n")

    const printed = yield* said(["add", "openai", "--print", "--no-test"], secret)
    assert.include(printed.stdout, "presets:\n  openai:\n    api_key: ${sealed:openai}")
    assert.strictEqual(readFileSync(file, "utf8"), "providers:\n")
    assert.match(
      (yield* said(["presets"])).stdout,
      /openai +OpenAI +openai +\d+ +https:\/\/api\.openai\.com\/v1 +OPENAI_API_KEY +no/
    )

    for (const [args, stdin, words] of [
      [["add"], undefined, "Name a vendor"],
      [["add", "openai"], "", "No key was given"],
      [["add", "opnai"], secret, "Did you mean 'openai'?"],
      [["add", ...acme, "--model", "small=x"], secret, "write a name, or a name with prices"],
      [["remove", "acme"], undefined, "no such provider"]
    ] as const) {
      const { code, stderr } = yield* said(args, stdin)
      assert.notStrictEqual(code, 0)
      assert.include(stderr, words)
    }
  })
)
