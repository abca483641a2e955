/** The time limits of a provider, a preset or a model in the settings file. */
import { Schema } from "effect"
import { type Timeouts } from "../../domain/Catalog.ts"
import { integer } from "../Forms.ts"

const milliseconds = () => Schema.optionalKey(integer("milliseconds, from 1 to 86400000", 1, 86_400_000))

export const TimeoutsEntry = Schema.Struct({
  connect_ms: milliseconds(),
  first_byte_ms: milliseconds(),
  first_token_ms: milliseconds(),
  idle_ms: milliseconds(),
  total_ms: milliseconds()
})

/** The limits that an entry names. */
export const timeoutsOf = (entry: typeof TimeoutsEntry.Type): Partial<Timeouts> => ({
  ...(entry.connect_ms === undefined ? {} : { connectMs: entry.connect_ms }),
  ...(entry.first_byte_ms === undefined ? {} : { firstByteMs: entry.first_byte_ms }),
  ...(entry.first_token_ms === undefined ? {} : { firstTokenMs: entry.first_token_ms }),
  ...(entry.idle_ms === undefined ? {} : { idleMs: entry.idle_ms }),
  ...(entry.total_ms === undefined ? {} : { totalMs: entry.total_ms })
})
