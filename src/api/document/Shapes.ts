/**
 * Makes the schemas of the OpenAPI document plain, so that usual validators and generators read
 * them as the gateway does: objects that take any member say so, replies stay open for new members,
 * integers have no bounds that only say how JavaScript counts, and the same form is listed once.
 */
import { Predicate } from "effect"

export type Json = Readonly<Record<string, unknown>>

/** The objects in a list of a document. */
export const objectsOf = (value: unknown): ReadonlyArray<Json> =>
  Array.isArray(value) ? value.filter(Predicate.isObject) : []
export const objectOf = (value: unknown): Json => (Predicate.isObject(value) ? value : {})

/** The value with every object in it changed, from the inside out. */
export const everywhere = (value: unknown, change: (object: Json) => unknown): unknown => {
  if (Array.isArray(value)) return value.map((one) => everywhere(one, change))
  if (!Predicate.isObject(value)) return value
  return change(Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, everywhere(inner, change)])))
}

const anything = JSON.stringify([{ type: "object", additionalProperties: {} }])

/** A schema without repetitions and without bounds of JavaScript's numbers. */
export const plainSchema = (schema: Json): unknown => {
  const { allOf, ...rest } = schema
  // Query values are strings. The document shows the type that a string must contain.
  if (Predicate.isObject(schema["contentSchema"])) return schema["contentSchema"]
  if (JSON.stringify(allOf) === anything) {
    // The names of an object that refuses other members are listed.
    return "propertyNames" in rest ? rest : { ...rest, additionalProperties: true }
  }
  if (Array.isArray(schema["anyOf"])) {
    const distinct = [...new Map(schema["anyOf"].map((one: unknown) => [JSON.stringify(one), one])).values()]
    const { anyOf: _, ...others } = schema
    return distinct.length > 1 ? { ...schema, anyOf: distinct } : { ...objectOf(distinct[0]), ...others }
  }
  if (schema["type"] === "array" && !("items" in schema)) return { ...schema, items: {} }
  if (schema["type"] === "integer") {
    const isBound = ([name, bound]: readonly [string, unknown]) =>
      !(/^(?:minimum|maximum)$/.test(name) && Math.abs(Number(bound)) === Number.MAX_SAFE_INTEGER)
    return Object.fromEntries(Object.entries(schema).filter(isBound))
  }
  const isBare = schema["type"] === "object" && !("properties" in schema) && !("additionalProperties" in schema)
  return isBare ? { ...schema, additionalProperties: true } : schema
}

/** A schema of replies: it may get new members. */
export const openSchema = (schema: Json): unknown => {
  const { additionalProperties, ...rest } = schema
  return additionalProperties === false ? rest : schema
}

/**
 * A default says what the gateway assumes. Generators would send it with every request, and call a
 * member required that has one. So it is told in words.
 */
export const toldDefault = (schema: Json): unknown => {
  if (!("default" in schema) || !("type" in schema || "anyOf" in schema)) return schema
  const { default: byDefault, ...rest } = schema
  const before = typeof rest["description"] === "string" ? `${rest["description"]} ` : ""
  return { ...rest, description: `${before}Default: ${JSON.stringify(byDefault)}.` }
}

/** The names of the component schemas that a part of the document uses, directly or not. */
export const usedBy = (part: unknown, schemas: Json): ReadonlySet<string> => {
  const used = new Set<string>()
  const visit = (value: unknown): void => {
    everywhere(value, (object) => {
      const reference = object["$ref"]
      const name = typeof reference === "string" ? reference.slice(reference.lastIndexOf("/") + 1) : null
      if (name !== null && !used.has(name)) {
        used.add(name)
        visit(schemas[name])
      }
      return object
    })
  }
  visit(part)
  return used
}
