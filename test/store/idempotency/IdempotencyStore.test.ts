/** The suite of the idempotency keys on every kind of store. */
import { layer } from "@effect/vitest"
import { Layer } from "effect"
import { IdempotencyStore } from "../../../src/store/idempotency/IdempotencyStore.ts"
import { layerPglite } from "../../support/Pglite.ts"
import { layerPostgres } from "../../support/Postgres.ts"
import { idempotencySuite } from "./idempotencySuite.ts"

const limit = { timeout: "60 seconds" } as const

layer(IdempotencyStore.layerMemory, limit)("in memory", idempotencySuite)
layer(IdempotencyStore.layer.pipe(Layer.provide(layerPglite)), limit)("in the embedded database", idempotencySuite)
layer(IdempotencyStore.layer.pipe(Layer.provide(layerPostgres)), limit)("in Postgres", idempotencySuite)
