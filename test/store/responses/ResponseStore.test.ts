/** The suite of stored responses on every layer. */
import * as ResponsesMemory from "../../../src/store/responses/ResponsesMemory.ts"
import * as ResponsesSql from "../../../src/store/responses/ResponsesSql.ts"
import { layer } from "@effect/vitest"
import { Layer } from "effect"
import { layerPglite } from "../../support/Pglite.ts"
import { layerPostgres } from "../../support/Postgres.ts"
import { responseStoreSuite } from "./responseStoreSuite.ts"

const limit = { timeout: "60 seconds" } as const

layer(ResponsesMemory.layer, limit)("in memory", responseStoreSuite)
layer(ResponsesSql.layer.pipe(Layer.provide(layerPglite)), limit)("in the embedded database", responseStoreSuite)
layer(ResponsesSql.layer.pipe(Layer.provide(layerPostgres)), limit)("in Postgres", responseStoreSuite)
