/**
 * How the console's page is served: compressed or not, with its policy; and the response when it
 * was not built.
 */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Ids } from "../../../src/domain/Ids.ts"
import { RequestMetrics } from "../../../src/gateway/telemetry/RequestMetrics.ts"
import { Load } from "../../../src/gateway/process/Load.ts"
import { EventLoopDelay } from "../../../src/gateway/process/EventLoopDelay.ts"
import { RefusalLog } from "../../../src/gateway/telemetry/RefusalLog.ts"
import { RequestCounters } from "../../../src/gateway/telemetry/RequestCounters.ts"
import * as Console from "../../../src/http/assets/Console.ts"
import * as Edge from "../../../src/http/edge/Edge.ts"

const directory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "tollgate-console-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

const script = "start();".repeat(300)

const build = (path: string) => {
  mkdirSync(join(path, "assets"))
  writeFileSync(join(path, "index.html"), "<p>the console</p>")
  writeFileSync(join(path, "assets", "index-1a2b.js"), script)
}

/** Queries a gateway whose page is in `path`. fetch accepts gzip by default. */
const serving = <A, E>(
  path: string,
  use: (ask: (path: string, headers?: Readonly<Record<string, string>>) => Effect.Effect<Answer>) => Effect.Effect<A, E>
) =>
  Effect.gen(function* () {
    const { address } = yield* HttpServer.HttpServer
    return yield* use((asked, headers = { "accept-encoding": "identity" }) =>
      Effect.promise(async () => {
        const response = await fetch(`${HttpServer.formatAddress(address)}${asked}`, {
          headers
        })
        return { status: response.status, headers: response.headers, text: await response.text() }
      })
    )
  }).pipe(
    Effect.provide(
      HttpRouter.serve(Layer.mergeAll(Console.layer(path), Edge.layer({ hsts: "never", trustedProxies: [] })), {
        disableLogger: true,
        disableListenLog: true
      }).pipe(
        Layer.provideMerge(NodeHttpServer.layer(() => createServer(), { port: 0, host: "127.0.0.1" })),
        Layer.provide(
          Layer.mergeAll(
            Ids.layerSequence,
            Layer.succeed(RefusalLog, { record: () => undefined }),
            Layer.provideMerge(RequestMetrics.layer, RequestCounters.layer),
            Layer.provide(
              Load.layer,
              EventLoopDelay.layerTest(() => 0)
            )
          )
        )
      )
    )
  )

interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

it.effect("serves the page at every address below /console, and only files that belong to it", () =>
  Effect.gen(function* () {
    const path = yield* directory
    build(path)
    yield* serving(path, (ask) =>
      Effect.gen(function* () {
        for (const address of [
          "/console",
          "/console/",
          "/console/keys",
          "/console/models/gpt-4.1",
          "/console/generations/gen_1?x=y"
        ]) {
          const { headers, status, text } = yield* ask(address)
          assert.deepStrictEqual([status, text], [200, "<p>the console</p>"], address)
          assert.strictEqual(headers.get("content-type"), "text/html; charset=utf-8")
          assert.strictEqual(headers.get("cache-control"), "no-cache")
          assert.strictEqual(
            headers.get("content-security-policy"),
            "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:"
          )
          assert.strictEqual(headers.get("x-content-type-options"), "nosniff")
          assert.strictEqual(headers.get("referrer-policy"), "no-referrer")
        }
        for (const address of [
          "/console/assets/absent.js",
          "/console/assets",
          "/console/assets/",
          "/console/assets/..%2findex.html",
          "/consoles"
        ]) {
          assert.strictEqual((yield* ask(address)).status, 404, address)
        }
      })
    )
  })
)

it.effect("serves its files as cacheable forever, compressed for clients that accept it", () =>
  Effect.gen(function* () {
    const path = yield* directory
    build(path)
    yield* serving(path, (ask) =>
      Effect.gen(function* () {
        const plain = yield* ask("/console/assets/index-1a2b.js")
        assert.deepStrictEqual([plain.text, plain.headers.get("content-encoding")], [script, null])
        assert.strictEqual(plain.headers.get("content-type"), "text/javascript; charset=utf-8")
        assert.strictEqual(plain.headers.get("cache-control"), "public, max-age=31536000, immutable")
        assert.strictEqual(plain.headers.get("vary"), "Accept-Encoding")
        const zipped = yield* ask("/console/assets/index-1a2b.js", { "accept-encoding": "gzip" })
        assert.deepStrictEqual([zipped.text, zipped.headers.get("content-encoding")], [script, "gzip"])
        const etag = plain.headers.get("etag") ?? ""
        const again = yield* ask("/console/assets/index-1a2b.js", { "if-none-match": etag })
        assert.deepStrictEqual([again.status, again.text], [304, ""])
        assert.include(again.headers.get("content-security-policy"), "default-src 'none'")
      })
    )
  })
)

it.effect("says how to build it when it is missing, and serves it once it is built", () =>
  Effect.gen(function* () {
    const path = yield* directory
    yield* serving(join(path, "built"), (ask) =>
      Effect.gen(function* () {
        const before = yield* ask("/console")
        assert.strictEqual(before.status, 503)
        assert.include(before.text, "npm run console")
        mkdirSync(join(path, "built"))
        build(join(path, "built"))
        assert.deepStrictEqual((yield* ask("/console")).text, "<p>the console</p>")
      })
    )
  })
)
