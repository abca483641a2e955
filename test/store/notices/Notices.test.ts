/** The suite of Notices on every kind of it. */
import { layer } from "@effect/vitest"
import { Layer } from "effect"
import { Notices } from "../../../src/store/notices/Notices.ts"
import { layerPglite } from "../../support/Pglite.ts"
import { layerPostgres } from "../../support/Postgres.ts"
import { noticesSuite } from "./noticesSuite.ts"

layer(Notices.layerMemory)("in memory", noticesSuite)
layer(Notices.layer.pipe(Layer.provide(layerPostgres)), { timeout: "60 seconds" })("in Postgres", noticesSuite)
layer(Notices.layer.pipe(Layer.provide(layerPglite)), { timeout: "60 seconds" })(
  "in the embedded database",
  noticesSuite
)
