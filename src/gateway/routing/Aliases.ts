/**
 * The operator's names for models: each stands for one model, or for several with weights, of which
 * each request draws one, and each named conversation one for all of its turns. The draw comes
 * before everything else, so whitelist, prices, limits and cache are those of the drawn model.
 * Pure.
 */
import { allowsModel } from "../../domain/Key.ts"

export interface AliasTarget {
  /** A model's id. */
  readonly model: string
  readonly weight: number
}

/** By name. Each has at least one target. */
export type Aliases = ReadonlyMap<string, ReadonlyArray<AliasTarget>>

/**
 * The model that a name stands for, or the name itself if it is not an alias. `roll` is 0 to 1; 0
 * draws the heaviest target. Targets that the whitelist forbids are not drawn, unless it forbids
 * all.
 */
export const drawn = (
  aliases: Aliases,
  name: string,
  allowedModels: ReadonlyArray<string> | null,
  roll: number
): string => {
  const targets = aliases.get(name)
  if (targets === undefined) return name
  const allowed = targets.filter(({ model }) => allowsModel(allowedModels, model))
  const heaviestFirst = (allowed.length === 0 ? targets : allowed).toSorted((a, b) => b.weight - a.weight)
  let left = roll * heaviestFirst.reduce((sum, { weight }) => sum + weight, 0)
  const found = heaviestFirst.find(({ weight }) => (left -= weight) < 0)
  return (found ?? heaviestFirst[0])?.model ?? name
}

/** The aliases of models that the key may use, with these models, heaviest first. */
export const allowedAliases = (
  aliases: Aliases,
  allowedModels: ReadonlyArray<string> | null
): ReadonlyArray<{ readonly name: string; readonly models: ReadonlyArray<string> }> =>
  [...aliases].flatMap(([name, targets]) => {
    const allowed = targets.filter(({ model }) => allowsModel(allowedModels, model))
    return allowed.length === 0
      ? []
      : [{ name, models: allowed.toSorted((a, b) => b.weight - a.weight).map(({ model }) => model) }]
  })
