/** The OpenAPI document as people and generators read it: words and examples of everything. */
import { assert, it } from "@effect/vitest"
import { Schema } from "effect"
import { OpenApi } from "effect/http-api"
import { Api } from "../../src/api/Api.ts"
import { DocumentedApi } from "../../src/api/document/Document.ts"
import { examples } from "../../src/api/document/Examples.ts"
import { memberWords } from "../../src/api/document/Members.ts"
import { operationWords } from "../../src/api/document/Operations.ts"

interface Described {
  readonly description?: string
}
interface Operation extends Described {
  readonly operationId: string
  readonly summary?: string
  readonly parameters: ReadonlyArray<Described & { readonly name: string }>
  readonly requestBody?: unknown
  readonly responses: unknown
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly tags: ReadonlyArray<Described>
  readonly components: {
    readonly schemas: Readonly<Record<string, unknown>>
    readonly securitySchemes: Readonly<Record<string, Described>>
  }
}

const document = JSON.parse(JSON.stringify(OpenApi.fromApi(DocumentedApi))) as Document
const operations = Object.values(document.paths).flatMap((path) => Object.values(path))

/** The paths of the members that have no description. */
const undescribed = (value: unknown, path: ReadonlyArray<string>): ReadonlyArray<string> => {
  if (Array.isArray(value)) return value.flatMap((one) => undescribed(one, path))
  if (typeof value !== "object" || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => {
    if (key === "example") return []
    if (key !== "properties") return undescribed(inner, path)
    return Object.entries(inner as Readonly<Record<string, Described>>).flatMap(([name, member]) => [
      ...(member.description === undefined ? [[...path, name].join(".")] : []),
      ...undescribed(member, [...path, name])
    ])
  })
}

it("every operation, parameter, member, tag and credential is described", () => {
  const lacking = Object.entries(document.components.schemas).flatMap(([name, schema]) => undescribed(schema, [name]))
  for (const { description, operationId, parameters, requestBody, responses, summary } of operations) {
    if (!summary || !description) lacking.push(operationId)
    for (const parameter of parameters) if (!parameter.description) lacking.push(`${operationId} ${parameter.name}`)
    lacking.push(...undescribed([requestBody, responses], [operationId]))
  }
  assert.deepStrictEqual(lacking, [])
  const { securitySchemes } = document.components
  for (const one of [...document.tags, ...Object.values(securitySchemes)]) assert.isString(one.description)
})

it("every word of the tables is used", () => {
  const text = JSON.stringify(document)
  const unused = [...memberWords].filter(([, words]) => !text.includes(JSON.stringify(words).slice(1, -1)))
  assert.deepStrictEqual(unused, [])
  const ids = operations.map(({ operationId }) => operationId)
  assert.sameMembers(Object.keys(operationWords), ids)
  assert.sameMembers(Object.keys(examples), ids)
})

it("replies are open, and requests that refuse unknown members are not", () => {
  const replies = operations.flatMap(({ responses }) => JSON.stringify(responses))
  assert.notInclude(replies.join(), '"additionalProperties":false')
  assert.notInclude(JSON.stringify(document.components.schemas["ApiKey"]), '"additionalProperties":false')
  assert.include(JSON.stringify(document.components.schemas["CreateKeyRequest"]), '"additionalProperties":false')
})

it("the example of a CSV is text", () => {
  const examples = [...JSON.stringify(document).matchAll(/"text\/csv[^"]*":\{"schema":\{[^}]*\},"example":(.{7})/g)]
  assert.isAbove(examples.length, 0)
  for (const [, example] of examples) assert.match(example ?? "", /^"(?:object|id,cre|day,re)$/)
})

const endpoints = Object.values(Api.groups).flatMap((group) =>
  Object.values(group.endpoints).map((endpoint) => ({ id: `${group.identifier}.${endpoint.identifier}`, endpoint }))
)

const reads = (schemas: ReadonlyArray<Schema.Top>, example: unknown): boolean =>
  schemas.some((schema) => Schema.is(Schema.toEncoded(Schema.toCodecJson(schema)))(example))

it.each(endpoints)("the example of $id is what its endpoint reads and answers", ({ endpoint, id }) => {
  const { request, response } = examples[id] ?? {}
  const bodies = endpoint.method === "GET" ? [] : [...endpoint.payload.values()].flatMap(({ schemas }) => schemas)
  assert.strictEqual(request !== undefined, bodies.length > 0)
  if (request !== undefined) assert.isTrue(reads(bodies, request), "request")
  assert.isTrue(reads([...endpoint.success], response), "response")
})
