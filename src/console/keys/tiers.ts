/** The tiers of rate limits, lowest first. */
import { type Tier } from "../../domain/Key.ts"

export const tiers: ReadonlyArray<Tier> = ["free", "pro", "enterprise"]
