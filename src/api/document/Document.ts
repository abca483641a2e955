/**
 * The OpenAPI document as people and generators read it. It begins with what the schemas say, and
 * adds words, examples, response headers and credentials.
 */
import { Predicate } from "effect"
import { OpenApi } from "effect/http-api"
import { Api } from "../Api.ts"
import { examples } from "./Examples.ts"
import { memberWords } from "./Members.ts"
import { operationWords, parameterWords, statusWords, tagWords } from "./Operations.ts"
import { responseHeaders } from "./ResponseHeaders.ts"
import { everywhere, type Json, objectOf, objectsOf, openSchema, plainSchema, toldDefault, usedBy } from "./Shapes.ts"

/** The API with the words of its document, which programs that call it do not need. */
export const DocumentedApi = Api.annotateMerge(OpenApi.annotations({ transform: (made) => documented(made) }))

const securitySchemes = {
  bearer: { type: "http", scheme: "bearer", description: "An API key. Keys begin with `tg-`." },
  apiKey: {
    type: "apiKey",
    name: "x-api-key",
    in: "header",
    description: "An API key, as Anthropic's clients send it."
  },
  adminKey: { type: "apiKey", name: "x-admin-key", in: "header", description: "The operator's admin key." },
  session: {
    type: "http",
    scheme: "bearer",
    bearerFormat: "JWT",
    description: "The access token of a signed-in user, from `/auth/register/{channel}/verify` or `/auth/refresh`."
  },
  refreshCookie: {
    type: "apiKey",
    name: "__Secure-tollgate_refresh",
    in: "cookie",
    description: "The refresh token, as browsers send it. Programs send it in the body."
  }
}

const documented = (made: Json): Json => {
  const plain = objectOf(everywhere(renamed(made), plainSchema))
  const components = objectOf(plain["components"])
  const schemas = objectOf(components["schemas"])
  const operations = Object.values(objectOf(plain["paths"])).flatMap((path) => Object.values(objectOf(path)))
  const requests = usedBy(
    operations.flatMap((operation) => [objectOf(operation)["requestBody"], objectOf(operation)["parameters"]]),
    schemas
  )
  const shown = Object.entries(schemas).map(([name, schema]) => {
    const told = everywhere(schema, toldDefault)
    return [name, described(requests.has(name) ? told : everywhere(told, openSchema), [name])]
  })
  const paths = Object.entries(objectOf(plain["paths"])).map(([path, methods]) => [
    path,
    Object.fromEntries(Object.entries(objectOf(methods)).map(([method, one]) => [method, operation(objectOf(one))]))
  ])
  return {
    ...plain,
    info: {
      ...objectOf(plain["info"]),
      license: { name: "MIT", identifier: "MIT" },
      contact: { name: "The operator of this gateway" }
    },
    servers: [
      { url: "/", description: "The gateway that serves this document" },
      { url: "http://127.0.0.1:8787", description: "A gateway on this machine" }
    ],
    tags: objectsOf(plain["tags"]).map((tag) => ({ ...tag, description: tagWords[String(tag["name"])] })),
    paths: Object.fromEntries(paths),
    components: { ...components, schemas: Object.fromEntries(shown), securitySchemes }
  }
}

/** Names without the ending that marks the encoded side of a schema. */
const renamed = (made: Json): unknown =>
  JSON.parse(JSON.stringify(made).replaceAll(/\b(\w+Chunk|\w+Event)Encoded\b/g, "$1"))

/** The schema with a description of each member. `path`: the names of the objects around it. */
const described = (schema: unknown, path: ReadonlyArray<string>): unknown => {
  if (Array.isArray(schema)) return schema.map((one) => described(one, path))
  if (!Predicate.isObject(schema)) return schema
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) =>
      key === "properties" && Predicate.isObject(value)
        ? [key, Object.fromEntries(Object.entries(value).map(([name, member]) => [name, memberOf(name, member, path)]))]
        : [key, key === "example" || key === "enum" ? value : described(value, path)]
    )
  )
}

const memberOf = (name: string, schema: unknown, path: ReadonlyArray<string>): unknown => {
  const inner = objectOf(described(schema, [...path, name]))
  const own = inner["description"]
  // What `toldDefault` wrote follows what the member is.
  if (typeof own === "string" && !own.startsWith("Default: ")) return inner
  const words = wordsFor([...path, name])
  return words === undefined ? inner : { ...inner, description: typeof own === "string" ? `${words} ${own}` : words }
}

const wordsFor = (path: ReadonlyArray<string>): string | undefined => {
  for (let from = 0; from < path.length; from++) {
    const words = memberWords.get(path.slice(from).join("."))
    if (words !== undefined) return words
  }
  return undefined
}

const operation = (made: Json): Json => {
  const id = String(made["operationId"])
  const words = operationWords[id]
  const example = examples[id]
  const body = objectOf(made["requestBody"])
  const hasBody = "content" in body
  return {
    ...made,
    description: made["description"] ?? words?.does,
    ...(id.startsWith("auth.") && /refresh|logout/.test(id) ? { security: [{}, { refreshCookie: [] }] } : {}),
    parameters: objectsOf(made["parameters"]).map((parameter) => withWords(parameter)),
    ...(hasBody ? { requestBody: { ...body, content: content(body["content"], id, example?.request, false) } } : {}),
    responses: Object.fromEntries(
      Object.entries(objectOf(made["responses"]))
        // A request without a body cannot have a faulty one.
        .filter(([status]) => hasBody || !/^(?:408|413|415)$/.test(status))
        .map(([status, response]) => [
          status,
          {
            ...objectOf(response),
            description: status === "200" ? (words?.answers ?? "Done.") : (statusWords[status] ?? "An error."),
            headers: responseHeaders(id, status),
            ...("content" in objectOf(response)
              ? {
                  content: content(
                    objectOf(response)["content"],
                    id,
                    status === "200" ? example?.response : undefined,
                    true
                  )
                }
              : {})
          }
        ])
    )
  }
}

/** `schema` has the default and the bounds; the words are beside it. */
const withWords = (parameter: Json): Json => {
  const schema = objectOf(parameter["schema"])
  const { description, ...rest } = schema
  return {
    ...parameter,
    description: description ?? parameterWords[`${String(parameter["in"])} ${String(parameter["name"])}`],
    schema: rest
  }
}

const content = (types: unknown, id: string, example: unknown, isReply: boolean): Json =>
  Object.fromEntries(
    Object.entries(objectOf(types)).map(([type, media]) => {
      if (type === "text/event-stream") return [type, eventStream(objectOf(media))]
      const told = everywhere(objectOf(media)["schema"], toldDefault)
      const schema = described(isReply ? everywhere(told, openSchema) : told, [id])
      const shown = type.startsWith("text/csv") ? csvOf(example) : example
      return [type, { ...objectOf(media), schema, ...(shown === undefined ? {} : { example: shown }) }]
    })
  )

/** A list as CSV: the names of the members, and the first row. */
const csvOf = (list: unknown): string => {
  const [row = {}] = objectsOf(objectOf(list)["data"])
  return [
    Object.keys(row),
    Object.values(row).map((value) => (Predicate.isNullish(value) ? "" : JSON.stringify(value).replaceAll('"', "")))
  ]
    .map((cells) => `${cells.join(",")}\r\n`)
    .join("")
}

/** Events of `data`, each with one JSON object of the schema in `x-event-data`. */
const eventStream = ({ schema }: Json): Json => {
  const data = objectOf(objectOf(objectOf(schema)["properties"])["data"])
  const isChunk = data["$ref"] === "#/components/schemas/ChatCompletionChunk"
  return {
    schema: {
      type: "string",
      description: isChunk
        ? "Server-sent events. The `data` of each is a ChatCompletionChunk as JSON; the last is `[DONE]`."
        : "Server-sent events. `event` is the type, and `data` the event as JSON."
    },
    "x-event-data": data["$ref"]
  }
}
