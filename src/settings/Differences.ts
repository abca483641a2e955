/**
 * The members in which two settings differ, under the names of the settings file. Never a value.
 */
import { Redacted, String as Str } from "effect"
import { type SettingsShape } from "../Settings.ts"
import { sectionsOf, variablesOf } from "./FileForm.ts"

const isMembers = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype

/** Entries of lists are known by what tells them apart. */
const nameOf = (entry: unknown, index: number): string => {
  const name = isMembers(entry) ? (entry["slug"] ?? entry["id"] ?? entry["name"] ?? entry["url"]) : undefined
  return typeof name === "string" ? name : String(index)
}

const leavesOf = (value: unknown, path: string): ReadonlyArray<readonly [path: string, value: string]> => {
  if (Redacted.isRedacted(value)) return [[path, JSON.stringify(Redacted.value(value))]]
  if (Array.isArray(value) && value.some(isMembers)) {
    return value.flatMap((entry: unknown, index) => leavesOf(entry, `${path}.${nameOf(entry, index)}`))
  }
  if (isMembers(value)) {
    return Object.entries(value).flatMap(([name, inner]) => {
      const written = /^[a-z][A-Za-z0-9]*$/.test(name) ? Str.camelToSnake(name) : name
      return leavesOf(inner, path === "" ? written : `${path}.${written}`)
    })
  }
  return [[path, JSON.stringify(value) ?? ""]]
}

/** Each member's value as JSON. It can be a secret. */
export const membersOf = (settings: SettingsShape): ReadonlyMap<string, string> =>
  new Map(leavesOf({ ...sectionsOf(settings), ...variablesOf(settings) }, ""))

export const differences = (before: SettingsShape, after: SettingsShape): ReadonlyArray<string> => {
  const [old, fresh] = [before, after].map(membersOf)
  const paths = [...new Set([...(old?.keys() ?? []), ...(fresh?.keys() ?? [])])]
  return paths.filter((path) => old?.get(path) !== fresh?.get(path))
}
