/** The suite of the audit trail on every layer. */
import { layer } from "@effect/vitest"
import { Layer } from "effect"
import * as AuditMemory from "../../../src/store/audit/AuditMemory.ts"
import * as AuditSql from "../../../src/store/audit/AuditSql.ts"
import { layerPglite } from "../../support/Pglite.ts"
import { layerPostgres } from "../../support/Postgres.ts"
import { auditSuite } from "./auditSuite.ts"

const timeout = { timeout: "60 seconds" } as const

layer(AuditMemory.layer)("in memory", auditSuite)
layer(AuditSql.layer.pipe(Layer.provide(layerPostgres)), timeout)("in Postgres", auditSuite)
layer(AuditSql.layer.pipe(Layer.provide(layerPglite)), timeout)("in the embedded database", auditSuite)
