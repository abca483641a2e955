/** The API page at `/docs`; it loads nothing from elsewhere. The OpenAPI document itself is served with the routes. */
import { HttpApiScalar } from "effect/http-api"
import { Api } from "../api/Api.ts"

export const layer = HttpApiScalar.layer(Api, { path: "/docs" })
