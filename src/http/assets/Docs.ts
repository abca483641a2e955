/**
 * The API page at `/docs`, and the OpenAPI document. Each is made and compressed once, on first
 * use, and served from memory; the page's script has three megabytes. The page can only run its own
 * two scripts and only call this gateway.
 */
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiScalar, OpenApi } from "effect/http-api"
import { createHash } from "node:crypto"
import { DocumentedApi } from "../../api/document/Document.ts"
import { serveDocuments } from "./Documents.ts"
import { type Asset, respondWith, zippedAsset } from "./Asset.ts"
import { guardedPage } from "./PageHeaders.ts"

interface Page {
  readonly asset: Asset
  readonly headers: Readonly<Record<string, string>>
}

const revalidated = { "cache-control": "no-cache" }

const document = Effect.map(
  Effect.suspend(() => zippedAsset("application/json", JSON.stringify(OpenApi.fromApi(DocumentedApi)))),
  (asset): Page => ({ asset, headers: revalidated })
)

const path = "/docs"

const page = Effect.gen(function* () {
  const scalar = HttpApiScalar.layer(DocumentedApi, { path, scalar: { withDefaultFonts: false } })
  const handler = yield* HttpRouter.toHttpEffect(scalar)
  const response = yield* handler
  const html = yield* Effect.promise(() => HttpServerResponse.toWeb(response).text())
  return {
    asset: yield* zippedAsset("text/html; charset=utf-8", html),
    headers: {
      ...revalidated,
      ...guardedPage({
        "script-src": scriptsOf(html).map(hashOf).join(" "),
        // The page's script adds styles at run time.
        "style-src": "'unsafe-inline'",
        "img-src": "'self' data:",
        "font-src": "'self' data:",
        "connect-src": "'self'"
      })
    }
  } satisfies Page
})

const scriptsOf = (html: string): ReadonlyArray<string> =>
  Array.from(html.matchAll(/<script>([\s\S]*?)<\/script>/g), ([, script = ""]) => script)

const hashOf = (script: string): string => `'sha256-${createHash("sha256").update(script).digest("base64")}'`

const serve = <E, R>(at: HttpRouter.PathInput, make: Effect.Effect<Page, E, R>) =>
  HttpRouter.use((router) =>
    Effect.gen(function* () {
      const made = yield* Effect.cached(Effect.uninterruptible(make))
      yield* router.add(
        "GET",
        at,
        Effect.gen(function* () {
          const request = yield* HttpServerRequest.HttpServerRequest
          const { asset, headers } = yield* made
          return respondWith(asset, request.headers, headers)
        })
      )
    })
  )

export const layer = Layer.mergeAll(
  serve(path, Effect.scoped(page)),
  serve("/openapi.json", document),
  Layer.effectDiscard(serveDocuments)
)
