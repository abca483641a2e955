/**
 * The fuzzer's view of openapi.json: the operations, and the JSON schemas behind their references.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"

export interface Schema {
  readonly $ref?: string
  readonly type?: string
  readonly enum?: ReadonlyArray<unknown>
  readonly const?: unknown
  readonly anyOf?: ReadonlyArray<Schema>
  readonly oneOf?: ReadonlyArray<Schema>
  readonly allOf?: ReadonlyArray<Schema>
  readonly items?: Schema
  readonly prefixItems?: ReadonlyArray<Schema>
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: ReadonlyArray<string>
  readonly additionalProperties?: boolean | Schema
  readonly pattern?: string
  readonly format?: string
  readonly minimum?: number
  readonly maximum?: number
}

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema?: Schema }>>
}

export interface Operation {
  readonly name: string
  readonly method: string
  /** With `{name}` for parameters. */
  readonly path: string
  readonly parameters: ReadonlyArray<{ readonly name: string; readonly in: string; readonly schema: Schema }>
  readonly body: Schema | null
  readonly responses: Readonly<Record<string, Content>>
  readonly schemes: ReadonlyArray<string>
}

interface Described {
  readonly operationId: string
  readonly parameters?: Operation["parameters"]
  readonly requestBody?: Content
  readonly responses: Operation["responses"]
  readonly security?: ReadonlyArray<Readonly<Record<string, unknown>>>
}

const document = JSON.parse(readFileSync(join(import.meta.dirname, "../../openapi.json"), "utf8")) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

export const operations: ReadonlyArray<Operation> = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, described]): Operation => ({
    name: described.operationId,
    method: method.toUpperCase(),
    path,
    parameters: described.parameters ?? [],
    body: described.requestBody?.content?.["application/json"]?.schema ?? null,
    responses: described.responses,
    schemes: (described.security ?? []).flatMap((scheme) => Object.keys(scheme))
  }))
)

export const resolved = (schema: Schema): Schema => {
  if (schema.$ref === undefined) return schema
  const found = document.components.schemas[schema.$ref.slice(schema.$ref.lastIndexOf("/") + 1)]
  if (found === undefined) throw new Error(`openapi.json has no ${schema.$ref}`)
  return resolved(found)
}

const typeOf = (value: unknown): string =>
  value === null ? "null" : Array.isArray(value) ? "array" : typeof value === "object" ? "object" : typeof value

/**
 * Describes where a value violates a schema; undefined if it is valid. Checks types, members,
 * enumerations and alternatives.
 */
export const misfit = (schema: Schema, value: unknown, at = "$"): string | undefined => {
  const {
    additionalProperties,
    allOf,
    anyOf,
    items,
    oneOf,
    properties = {},
    required = [],
    type,
    ...rest
  } = resolved(schema)
  const alternatives = anyOf ?? oneOf
  if (alternatives !== undefined && alternatives.every((one) => misfit(one, value, at) !== undefined)) {
    return `${at}: ${misfit(alternatives[0] ?? {}, value, at) ?? ""} (and no other alternative fits)`
  }
  for (const part of allOf ?? []) {
    const found = misfit(part, value, at)
    if (found !== undefined) return found
  }
  if (rest.enum !== undefined && !rest.enum.includes(value))
    return `${at}: ${JSON.stringify(value)} is not in the enumeration`
  const actual = typeOf(value)
  if (type === "integer" ? !Number.isInteger(value) : type !== undefined && type !== actual) {
    return `${at}: ${actual} instead of ${type}`
  }
  if (Array.isArray(value) && items !== undefined) {
    for (const [index, item] of value.entries()) {
      const found = misfit(items, item, `${at}[${index}]`)
      if (found !== undefined) return found
    }
  }
  if (actual !== "object") return undefined
  const members = value as Readonly<Record<string, unknown>>
  const missing = required.find((name) => !Object.hasOwn(members, name))
  if (missing !== undefined) return `${at}: ${missing} is missing`
  for (const [name, member] of Object.entries(members)) {
    const expected = properties[name] ?? (typeof additionalProperties === "object" ? additionalProperties : undefined)
    if (expected === undefined && additionalProperties === false) return `${at}: ${name} is not described`
    const found = expected === undefined ? undefined : misfit(expected, member, `${at}.${name}`)
    if (found !== undefined) return found
  }
  return undefined
}
