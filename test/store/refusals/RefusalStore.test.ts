/** The suite of refusals on every layer. */
import { layer } from "@effect/vitest"
import { Layer } from "effect"
import * as RefusalMemory from "../../../src/store/refusals/RefusalMemory.ts"
import * as RefusalSql from "../../../src/store/refusals/RefusalSql.ts"
import { layerPglite } from "../../support/Pglite.ts"
import { layerPostgres } from "../../support/Postgres.ts"
import { refusalSuite } from "./refusalSuite.ts"

const timeout = { timeout: "60 seconds" } as const

layer(RefusalMemory.layer)("in memory", refusalSuite)
layer(RefusalSql.layer.pipe(Layer.provide(layerPostgres)), timeout)("in Postgres", refusalSuite)
layer(RefusalSql.layer.pipe(Layer.provide(layerPglite)), timeout)("in the embedded database", refusalSuite)
