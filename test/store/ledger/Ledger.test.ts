/** The suite of the ledger on every kind of it. */
import { Layer } from "effect"
import { Ledger } from "../../../src/store/ledger/Ledger.ts"
import { layerPglite } from "../../support/Pglite.ts"
import { layerPostgres } from "../../support/Postgres.ts"
import { Audit } from "./LedgerAudit.ts"
import { ledgerSuite, overviewSuite } from "./ledgerSuite.ts"

const stored = Layer.merge(Ledger.layer, Audit.layer)

ledgerSuite("Ledger in memory", Layer.merge(Ledger.layerMemory, Audit.layerNone))
ledgerSuite("Ledger in the embedded database", stored.pipe(Layer.provide(layerPglite)))
ledgerSuite("Ledger in Postgres", stored.pipe(Layer.provide(layerPostgres)))

overviewSuite("Ledger's overview in memory", Ledger.layerMemory)
overviewSuite("Ledger's overview in the embedded database", Ledger.layer.pipe(Layer.provide(layerPglite)))
overviewSuite("Ledger's overview in Postgres", Ledger.layer.pipe(Layer.provide(layerPostgres)))
