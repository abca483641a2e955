/**
 * The console's page at `/console`, out of dist/console as scripts/console.ts built it. The files are read once, when somebody first asks, and served
 * from memory, zipped for those who take it; names with a hash in them may be kept for ever. The page may load and call nothing
 * but this gateway. Where it was not built, the answer says how to build it.
 */
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { readdir, readFile } from "node:fs/promises"
import { extname, join, relative, sep } from "node:path"
import { fileURLToPath } from "node:url"
import { gatewayError, NotFound } from "../../domain/Errors.ts"
import { type Asset, makeAsset, respondWith } from "./Asset.ts"
import { guard } from "../errors/ErrorResponse.ts"
import { guardedPage } from "./PageHeaders.ts"

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml"
}

/** No code, style or connection from or to elsewhere, nothing inline. */
const guarded = guardedPage({
  "script-src": "'self'",
  "style-src": "'self'",
  "connect-src": "'self'",
  "img-src": "'self' data:"
})

const built = fileURLToPath(new URL("../../../dist/console", import.meta.url))

/** `directory`: where the built page lies. */
export const layer = (directory: string = built) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const router = yield* HttpRouter.HttpRouter
      let kept: ReadonlyMap<string, Asset> | undefined
      const assets = Effect.suspend(() =>
        kept === undefined
          ? Effect.tap(read(directory), (found) => Effect.sync(() => void (kept = found)))
          : Effect.succeed(kept)
      )
      const answer = Effect.gen(function* () {
        const { headers, originalUrl } = yield* HttpServerRequest.HttpServerRequest
        const found = yield* Effect.result(assets)
        if (found._tag === "Failure") return unbuilt
        const path = pathBelow(originalUrl)
        const asset = found.success.get(path)
        if (asset !== undefined && path !== INDEX)
          return respondWith(asset, headers, { ...guarded, "cache-control": forEver })
        const index = found.success.get(INDEX)
        // Whatever else is below /console is a page of the console, which finds its way by itself.
        if (index === undefined || path.startsWith("assets/")) {
          return yield* guard(Effect.fail(gatewayError(new NotFound({ what: "route", id: `GET ${originalUrl}` }))))
        }
        return respondWith(index, headers, { ...guarded, "cache-control": "no-cache" })
      })
      // It takes /console itself as well.
      yield* router.add("GET", "/console/*", answer)
    })
  )

/** What follows `/console/` in a request's target, which may be a path or a whole address. */
const pathBelow = (target: string): string =>
  target
    .replace(/^[a-z][a-z\d+.-]*:\/\/[^/?#]*/i, "")
    .replace(/[?#].*$/s, "")
    .replace(/^\/console\/?/, "")

const INDEX = "index.html"
const forEver = "public, max-age=31536000, immutable"

/** Every file of the page by its path below `directory`. Fails when there is no page. */
const read = Effect.fn("Console.read")(function* (directory: string) {
  const entries = yield* Effect.tryPromise(() => readdir(directory, { recursive: true, withFileTypes: true }))
  const files = entries.filter((entry) => entry.isFile()).map(({ name, parentPath }) => join(parentPath, name))
  const contents = new Map(
    yield* Effect.forEach(files, (file) =>
      Effect.map(
        Effect.tryPromise(() => readFile(file)),
        (bytes) => [relative(directory, file).split(sep).join("/"), new Uint8Array(bytes)] as const
      )
    )
  )
  return new Map(
    [...contents].flatMap(([path, bytes]): ReadonlyArray<readonly [string, Asset]> => {
      const type = types[extname(path)]
      return type === undefined ? [] : [[path, makeAsset(type, bytes, contents.get(`${path}.gz`) ?? null)]]
    })
  )
})

const unbuilt = HttpServerResponse.text(
  `<!doctype html><html lang="en"><meta charset="utf-8"><title>tollgate console</title><h1>The console is not built</h1>
<p>Run <code>npm run console</code> in the directory of the gateway, then load this page again. <code>scripts/start</code> builds it by itself.</p></html>
`,
  { status: 503, headers: { ...guarded, "content-type": "text/html; charset=utf-8", "cache-control": "no-store" } }
)
