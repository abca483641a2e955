/**
 * Faults of unknown names in `entities` of a privacy preview. The names of the operator's patterns
 * are known.
 */
import { type ValidationError } from "../../api/Failure.ts"
import { MAX_FAULTS } from "../body/ValidationFaults.ts"

/** Entries that are not strings are left to the schema. */
export const entityFaults = (
  entities: ReadonlyArray<unknown>,
  known: ReadonlyArray<string>
): ReadonlyArray<ValidationError> => {
  const names = known.map((type) => `'${type}'`)
  const expected = names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`
  const faults: Array<ValidationError> = []
  for (const [index, entity] of entities.entries()) {
    if (faults.length === MAX_FAULTS) break
    if (typeof entity !== "string" || known.includes(entity)) continue
    faults.push({
      loc: ["body", "entities", index],
      msg: `Input should be ${expected}`,
      type: "literal_error",
      input: entity.slice(0, 64),
      ctx: { expected }
    })
  }
  return faults
}
