/** The suite of sent alerts on every layer. */
import { layer } from "@effect/vitest"
import { Layer } from "effect"
import * as SentAlertsMemory from "../../../src/store/alerts/SentAlertsMemory.ts"
import * as SentAlertsSql from "../../../src/store/alerts/SentAlertsSql.ts"
import { layerPglite } from "../../support/Pglite.ts"
import { layerPostgres } from "../../support/Postgres.ts"
import { sentAlertsSuite } from "./sentAlertsSuite.ts"

const timeout = { timeout: "60 seconds" } as const

layer(SentAlertsMemory.layer)("in memory", sentAlertsSuite)
layer(SentAlertsSql.layer.pipe(Layer.provide(layerPostgres)), timeout)("in Postgres", sentAlertsSuite)
layer(SentAlertsSql.layer.pipe(Layer.provide(layerPglite)), timeout)("in the embedded database", sentAlertsSuite)
