/**
 * The API page at `/docs`, which loads nothing from elsewhere, and the OpenAPI document. Both are made when they are first asked for: the page's
 * script is three megabytes, which a gateway whose page nobody looks at need not hold.
 */
import { Effect, Layer, Scope } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { HttpApiScalar, OpenApi } from "effect/http-api"
import { Api } from "../api/Api.ts"

const document = HttpRouter.add(
  "GET",
  "/openapi.json",
  Effect.sync(() => HttpServerResponse.jsonUnsafe(OpenApi.fromApi(Api)))
)

const path = "/docs"

const page = HttpRouter.use((router) =>
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    const made = HttpRouter.toHttpEffect(HttpApiScalar.layer(Api, { path })).pipe(Scope.provide(scope))
    const handler = yield* Effect.cached(Effect.uninterruptible(made))
    yield* router.add("GET", path, Effect.flatten(handler))
  })
)

export const layer = Layer.merge(page, document)
