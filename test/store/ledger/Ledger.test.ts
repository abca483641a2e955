/** The ledger suite on every layer. */
import { Layer } from "effect"
import * as LedgerMemory from "../../../src/store/ledger/Memory.ts"
import * as LedgerSql from "../../../src/store/ledger/Sql.ts"
import { layerPglite } from "../../support/Pglite.ts"
import { layerPostgres } from "../../support/Postgres.ts"
import { Audit } from "./LedgerAudit.ts"
import { ledgerSuite, overviewSuite } from "./ledgerSuite.ts"
import { withoutSingleEntries } from "./withoutSingleEntries.ts"

const stored = Layer.merge(LedgerSql.layer, Audit.layer)

ledgerSuite("Ledger in memory", Layer.merge(LedgerMemory.layer, Audit.layerNone))
ledgerSuite("Ledger in the embedded database", stored.pipe(Layer.provide(layerPglite)))
ledgerSuite("Ledger in Postgres", stored.pipe(Layer.provide(layerPostgres)))
ledgerSuite("Ledger in Postgres, in groups", stored.pipe(Layer.provide(withoutSingleEntries(layerPostgres))))

overviewSuite("Ledger's overview in memory", LedgerMemory.layer)
overviewSuite("Ledger's overview in the embedded database", LedgerSql.layer.pipe(Layer.provide(layerPglite)))
overviewSuite("Ledger's overview in Postgres", LedgerSql.layer.pipe(Layer.provide(layerPostgres)))
