/** The suite of the key store on every kind of it. */
import { Layer } from "effect"
import { KeyRepo } from "../../src/store/KeyRepo.ts"
import { layerPglite } from "../support/Pglite.ts"
import { layerPostgres } from "../support/Postgres.ts"
import { keyRepoSuite } from "./keyRepoSuite.ts"

keyRepoSuite("KeyRepo in memory", KeyRepo.layerMemory)
keyRepoSuite("KeyRepo in the embedded database", KeyRepo.layer.pipe(Layer.provide(layerPglite)))
keyRepoSuite("KeyRepo in Postgres", KeyRepo.layer.pipe(Layer.provide(layerPostgres)))
