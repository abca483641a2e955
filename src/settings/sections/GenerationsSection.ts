/**
 * The `generations` section of the settings file: when generations are archived and deleted. An
 * archive date after deletion is a fault.
 */
import { Result, Schema } from "effect"
import { decodeAt, type Faults, type Place } from "../Faults.ts"
import { integer, orNull } from "../Forms.ts"

/** In days; `null`: never. */
export interface GenerationsSettings {
  /** Age at which they move to the archive. Must be below `retentionDays`. */
  readonly archiveDays: number | null
  /** Age at which they are deleted. */
  readonly retentionDays: number | null
}

const days = (from: number) => {
  const form = `whole days, from ${from} to 36500`
  return Schema.optionalKey(orNull(integer(form, from, 36_500), form))
}

/**
 * At least 2 days to the archive, because the figures of the last 24 hours read only unarchived
 * generations.
 */
const Section = Schema.Struct({ archive_days: days(2), retention_days: days(1) })

export const keptForEver: GenerationsSettings = { archiveDays: null, retentionDays: null }

export const decodeGenerations = (place: Place): Result.Result<GenerationsSettings, Faults> =>
  Result.flatMap(
    decodeAt(Section, place),
    ({ archive_days: archiveDays = null, retention_days: retentionDays = null }) =>
      archiveDays === null || retentionDays === null || archiveDays < retentionDays
        ? Result.succeed({ archiveDays, retentionDays })
        : Result.fail([
            {
              setting: "generations.archive_days",
              problem: "is not before their deletion",
              expected: "fewer days than generations.retention_days"
            }
          ])
  )
