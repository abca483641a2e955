/**
 * The `privacy` section of the settings file: mode, built-in entities, and the operator's patterns.
 * Patterns run on an RE2 engine, whose time is linear in the text. A pattern that the engine does
 * not support stops the start.
 */
import { Effect, Result, Schema } from "effect"
import { allEntities, type OwnPattern, type PrivacyRules } from "../../domain/Privacy.ts"
import { decodeAt, type Faults, type Place } from "../Faults.ts"
import { choice, text } from "../Forms.ts"
import { duplicates } from "../Lists.ts"
import { member } from "../Faults.ts"

const form = "a name of lower-case letters, digits and _, at most 32, that no built-in entity has"
const isFree = (name: string): boolean => !allEntities.some((entity) => entity === name)
const expectedPattern = "a regular expression of RE2: no look-around, no back-references; at most 1000 characters"
const MAX_PATTERN = 1_000

const Section = Schema.Struct({
  mode: Schema.optionalKey(choice(["off", "mask", "block"])),
  entities: Schema.optionalKey(Schema.Array(choice([...allEntities]))),
  patterns: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({
        name: text(form, (name) => /^[a-z][a-z0-9_]{0,31}$/.test(name) && isFree(name)),
        pattern: text(expectedPattern, (pattern) => pattern !== "" && pattern.length <= MAX_PATTERN)
      })
    )
  )
})

export const noPrivacy: PrivacyRules = { mode: "off", entities: allEntities, patterns: [] }

export const decodePrivacy = (place: Place): Result.Result<PrivacyRules, Faults> =>
  Result.flatMap(decodeAt(Section, place), ({ entities, mode, patterns }) => {
    const repeated = duplicates(member(place, "patterns"), "name", "a name that no other pattern has")
    return repeated.length > 0
      ? Result.fail(repeated)
      : Result.succeed({
          mode: mode ?? noPrivacy.mode,
          entities: entities ?? noPrivacy.entities,
          patterns: patterns ?? noPrivacy.patterns
        })
  })

/**
 * Faults of patterns that the engine does not support. The engine is loaded only if there are
 * patterns.
 */
export const unusablePatterns = (patterns: ReadonlyArray<OwnPattern>): Effect.Effect<Faults> =>
  patterns.length === 0
    ? Effect.succeed([])
    : Effect.map(
        Effect.promise(() => import("re2js")),
        ({ RE2JS }) =>
          patterns.flatMap(({ pattern }, index) =>
            Result.isSuccess(Result.try(() => RE2JS.compile(pattern)))
              ? []
              : [
                  {
                    setting: `privacy.patterns[${index}].pattern`,
                    problem: "is not a valid RE2 pattern",
                    expected: expectedPattern
                  }
                ]
          )
      )
