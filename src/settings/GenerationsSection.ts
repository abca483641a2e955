/**
 * The settings file's section `generations`: when they are archived, and when they are deleted. Refuses an archive for what is deleted
 * before it would get there.
 */
import { Result, Schema } from "effect"
import { decodeAt, type Faults, type Place } from "./Faults.ts"
import { integer, orNull } from "./Forms.ts"

/** In days; `null`: never. */
export interface GenerationsSettings {
  /** When they move to the archive, always before they go. */
  readonly archiveDays: number | null
  /** How long they are kept. */
  readonly retentionDays: number | null
}

const days = (from: number) => {
  const form = `whole days, from ${from} to 36500`
  return Schema.optionalKey(orNull(integer(form, from, 36_500), form))
}

/** Figures of the last 24 hours are read of what is not archived. */
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
              problem: "is later than they are deleted",
              expected: "fewer days than generations.retention_days"
            }
          ])
  )
