/** Runs before each test file: properties are checked with the same cases in every run. */
import { Arbitrary } from "effect"

Arbitrary.configureGlobal({ check: { seed: "tollgate" } })
