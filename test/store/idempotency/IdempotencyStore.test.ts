/** The idempotency suite on every layer. */
import * as IdempotencyMemory from "../../../src/store/idempotency/IdempotencyMemory.ts"
import * as IdempotencySql from "../../../src/store/idempotency/IdempotencySql.ts"
import { layer } from "@effect/vitest"
import { Layer } from "effect"
import { layerPglite } from "../../support/Pglite.ts"
import { layerPostgres } from "../../support/Postgres.ts"
import { idempotencySuite } from "./idempotencySuite.ts"

const limit = { timeout: "60 seconds" } as const

layer(IdempotencyMemory.layer, limit)("in memory", idempotencySuite)
layer(IdempotencySql.layer.pipe(Layer.provide(layerPglite)), limit)("in the embedded database", idempotencySuite)
layer(IdempotencySql.layer.pipe(Layer.provide(layerPostgres)), limit)("in Postgres", idempotencySuite)
