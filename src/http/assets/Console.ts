/**
 * The console's page at `/console`, from dist/console as scripts/console.ts built it, compressed
 * for clients that accept it. File names contain a hash, so browsers may cache them forever. The
 * page may load from and call this gateway only. If it was not built, the response says how to
 * build it.
 */
import { Effect, Layer } from "effect"
import {
  HttpMiddleware,
  HttpPlatform,
  HttpRouter,
  HttpServerRequest,
  HttpServerResponse,
  HttpStaticServer
} from "effect/http"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { gatewayError, NotFound } from "../../domain/Errors.ts"
import { guard } from "../errors/ErrorResponse.ts"
import { guardedPage } from "./PageHeaders.ts"

/** Forbids code, styles and connections of other origins, and inline code. */
const guarded = guardedPage({
  "script-src": "'self'",
  "style-src": "'self'",
  "connect-src": "'self'",
  "img-src": "'self' data:"
})

const built = fileURLToPath(new URL("../../../dist/console", import.meta.url))

/** `directory` contains the built page. */
export const layer = (directory: string = built) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const router = yield* HttpRouter.HttpRouter
      const platform = yield* HttpPlatform.HttpPlatform
      const files = yield* HttpStaticServer.make({
        root: join(directory, "assets"),
        index: undefined,
        cacheControl: "public, max-age=31536000, immutable"
      })
      const file = Effect.catch(files, ({ request }) =>
        guard(Effect.fail(gatewayError(new NotFound({ what: "route", id: `GET ${request.originalUrl}` }))))
      )
      const pages = yield* HttpStaticServer.make({ root: directory, cacheControl: "no-cache" })
      // All other paths below /console return the same page, whose script does the routing.
      const page = Effect.updateService(pages, HttpServerRequest.HttpServerRequest, (request) =>
        request.modify({ url: "/index.html" })
      ).pipe(Effect.catch(() => Effect.succeed(unbuilt)))
      const sent = (answer: typeof page) =>
        Effect.map(answer, HttpServerResponse.setHeaders(guarded)).pipe(
          HttpMiddleware.compression(),
          Effect.provideService(HttpPlatform.HttpPlatform, platform)
        )
      yield* router.prefixed("/console/assets").add("GET", "/*", sent(file))
      // Matches /console as well.
      yield* router.prefixed("/console").add("GET", "/*", sent(page))
    }).pipe(Effect.orDie)
  )

const unbuilt = HttpServerResponse.text(
  `<!doctype html><html lang="en"><meta charset="utf-8"><title>tollgate console</title><h1>The console is not built</h1>
<p>Run <code>npm run console</code> in the directory of the gateway, then load this page again. <code>scripts/start</code> builds it by itself.</p></html>
`,
  { status: 503, headers: { "content-type": "text/html; charset=utf-8", "cache-control": "no-store" } }
)
