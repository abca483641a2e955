/** Runs before each test file: property tests use the same cases in every run. */
import { Arbitrary } from "effect"

Arbitrary.configureGlobal({ check: { seed: "tollgate" } })
