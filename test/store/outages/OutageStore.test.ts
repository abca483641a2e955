/** The suite of outages on every layer. */
import { layer } from "@effect/vitest"
import { Layer } from "effect"
import * as OutageMemory from "../../../src/store/outages/OutageMemory.ts"
import * as OutageSql from "../../../src/store/outages/OutageSql.ts"
import { layerPglite } from "../../support/Pglite.ts"
import { layerPostgres } from "../../support/Postgres.ts"
import { outageSuite } from "./outageSuite.ts"

const timeout = { timeout: "60 seconds" } as const

layer(OutageMemory.layer)("in memory", outageSuite)
layer(OutageSql.layer.pipe(Layer.provide(layerPostgres)), timeout)("in Postgres", outageSuite)
layer(OutageSql.layer.pipe(Layer.provide(layerPglite)), timeout)("in the embedded database", outageSuite)
