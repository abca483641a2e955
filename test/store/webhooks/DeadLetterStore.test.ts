/** The dead letter suite on every layer. */
import { layer } from "@effect/vitest"
import { Layer } from "effect"
import * as DeadLetterMemory from "../../../src/store/webhooks/DeadLetterMemory.ts"
import * as DeadLetterSql from "../../../src/store/webhooks/DeadLetterSql.ts"
import { layerPglite } from "../../support/Pglite.ts"
import { layerPostgres } from "../../support/Postgres.ts"
import { deadLetterSuite } from "./deadLetterSuite.ts"

const timeout = { timeout: "60 seconds" } as const

layer(DeadLetterMemory.layer)("in memory", deadLetterSuite)
layer(DeadLetterSql.layer.pipe(Layer.provide(layerPostgres)), timeout)("in Postgres", deadLetterSuite)
layer(DeadLetterSql.layer.pipe(Layer.provide(layerPglite)), timeout)("in the embedded database", deadLetterSuite)
