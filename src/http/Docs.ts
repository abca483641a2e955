/** The API page at `/docs`, which loads nothing from elsewhere, and the OpenAPI document, which is made when it is first asked for. */
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { HttpApiScalar, OpenApi } from "effect/http-api"
import { Api } from "../api/Api.ts"

const document = HttpRouter.add(
  "GET",
  "/openapi.json",
  Effect.sync(() => HttpServerResponse.jsonUnsafe(OpenApi.fromApi(Api)))
)

export const layer = Layer.merge(HttpApiScalar.layer(Api, { path: "/docs" }), document)
