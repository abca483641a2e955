/**
 * Decodes the `aliases` section of the settings file: names of the operator for models. A plain
 * text stands for one model, a list for several with weights.
 */
import { Result, Schema } from "effect"
import { type ProviderConfig } from "../../domain/Catalog.ts"
import { decodeAt, type Faults, member, type Place, renderPath } from "../Faults.ts"
import { modelId, number } from "../Forms.ts"
import { collect, entriesOf } from "../Lists.ts"

/** By name: the models that it stands for, by their weights. */
export type AliasSettings = Readonly<Record<string, ReadonlyArray<{ readonly model: string; readonly weight: number }>>>

const name = /^[\w.:@+/-]{1,200}$/
const Names = Schema.Record(Schema.String, Schema.Unknown)
const weight = "a weight above 0, up to 1000000"
const Target = Schema.Struct({
  model: modelId(),
  /** Default: 1. */
  weight: Schema.optionalKey(number(weight, 0.000_001, 1_000_000))
})

export const decodeAliases = (place: Place): Result.Result<AliasSettings, Faults> =>
  Result.flatMap(decodeAt(Names, place), (names) =>
    Result.map(
      collect(
        Object.keys(names).map((alias) =>
          Result.map(decodeTargets(member(place, alias)), (targets) => [alias, targets] as const)
        ),
        Object.keys(names).flatMap((alias) => (name.test(alias) ? [] : [badName(place, alias)]))
      ),
      (entries): AliasSettings => Object.fromEntries(entries)
    )
  )

const badName = (place: Place, alias: string) => ({
  setting: renderPath([...place.path, alias]),
  problem: "is not a name for a model",
  expected: "letters, digits and . _ : @ + / -, at most 200"
})

const decodeTargets = (place: Place) => {
  if (!Array.isArray(place.value)) return Result.map(decodeAt(modelId(), place), (model) => [{ model, weight: 1 }])
  if (place.value.length === 0) {
    return Result.fail([{ setting: renderPath(place.path), problem: "is empty", expected: "at least one model" }])
  }
  const targets = entriesOf(place).map((entry) =>
    Result.map(decodeAt(Target, entry), (target) => ({ model: target.model, weight: target.weight ?? 1 }))
  )
  return collect(targets, [])
}

/** Aliases of models that no provider serves. */
export const unservedAliases = (aliases: AliasSettings, providers: ReadonlyArray<ProviderConfig>): Faults => {
  const served = new Set(providers.flatMap(({ models }) => models.map(({ id }) => id)))
  return Object.entries(aliases).flatMap(([alias, targets]) =>
    targets.flatMap(({ model }) =>
      served.has(model)
        ? []
        : [
            {
              setting: renderPath(["aliases", alias]),
              problem: `names ${model}, which no provider serves`,
              expected: "the id of a model of a provider"
            }
          ]
    )
  )
}
