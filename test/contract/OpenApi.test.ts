/**
 * The OpenAPI document against tables of the specification: every endpoint, field, default and
 * bound, and every 422.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { TestApp } from "../support/TestApp.ts"

interface Schema {
  readonly $ref?: string
  readonly description?: string
  readonly type?: string
  readonly enum?: ReadonlyArray<unknown>
  readonly anyOf?: ReadonlyArray<Schema>
  readonly allOf?: ReadonlyArray<Schema>
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: ReadonlyArray<string>
  readonly additionalProperties?: unknown
  readonly default?: unknown
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly format?: string
  readonly pattern?: string
}
interface Operation {
  readonly parameters?: ReadonlyArray<{
    readonly name: string
    readonly in: string
    readonly required?: boolean
    readonly schema: Schema
  }>
  readonly requestBody?: { readonly required?: boolean; readonly content: Readonly<Record<string, { schema: Schema }>> }
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, { schema: Schema }>> }>>
  readonly security?: ReadonlyArray<Readonly<Record<string, unknown>>>
}
interface Document {
  readonly openapi: string
  readonly info: { readonly version: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly securitySchemes: Readonly<Record<string, unknown>>
  }
}

const document = JSON.parse(readFileSync(new URL("../../openapi.json", import.meta.url), "utf8")) as Document

const named = (name: string): Schema => {
  const found = document.components.schemas[name]
  assert.isDefined(found, name)
  return found ?? {}
}
const resolve = (schema: Schema): Schema =>
  schema.$ref === undefined ? schema : named(schema.$ref.slice(schema.$ref.lastIndexOf("/") + 1))

/** A schema in a few words: `string`, `integer|null`, `array of string`, `ChatMessage`. */
const wordsOf = (schema: Schema): string => {
  if (schema.$ref !== undefined) return schema.$ref.slice(schema.$ref.lastIndexOf("/") + 1)
  if (schema.anyOf !== undefined) return schema.anyOf.map(wordsOf).join("|")
  if (schema.type === "array") return `array of ${schema.items === undefined ? "anything" : wordsOf(schema.items)}`
  if (schema.enum !== undefined) return schema.enum.join(",")
  return schema.type ?? "anything"
}

/**
 * Field, type, `required` or not, and the default if there is one, as in the specification's
 * tables.
 */
type Row = readonly [field: string, type: string, required: boolean, byDefault?: unknown]

const tables: Readonly<Record<string, ReadonlyArray<Row>>> = {
  ChatMessage: [
    ["role", "system,developer,user,assistant,tool,function", true],
    ["content", "string|array of object|null", false]
  ],
  ChatCompletionRequest: [
    ["model", "string", true],
    ["messages", "array of ChatMessage", true],
    ["temperature", "number|null", false, 1],
    ["max_tokens", "integer|null", false],
    ["stream", "boolean|null", false, false],
    ["user", "string|null", false],
    ["metadata", "object|null", false],
    ["provider", "ProviderPreferences|null", false],
    ["response_format", "object|null", false]
  ],
  ProviderPreferences: [
    ["sort", "price,throughput,latency|null", false],
    ["order", "array of string|null", false],
    ["allow_fallbacks", "boolean", false, true],
    ["data_collection", "allow,deny|null", false]
  ],
  ChatCompletionResponse: [
    ["id", "string", true],
    ["object", "chat.completion", true, "chat.completion"],
    ["created", "integer", true],
    ["model", "string", true],
    ["provider", "string", true],
    ["choices", "array of ChatChoice", true],
    ["usage", "UsageInfo", true],
    ["cache_hit", "boolean", true, false],
    ["generation_id", "string|null", true]
  ],
  ChatChoice: [
    ["index", "integer", true],
    ["message", "object", true],
    ["finish_reason", "string|null", true]
  ],
  UsageInfo: [
    ["prompt_tokens", "integer", true, 0],
    ["completion_tokens", "integer", true, 0],
    ["total_tokens", "integer", true, 0],
    ["estimated_cost_usd", "number", false, 0],
    ["cached_tokens", "integer", true, 0],
    ["cache_discount_usd", "number", false, 0],
    ["cache_hit", "boolean", true, false]
  ],
  EmbeddingRequest: [
    ["model", "string", true],
    ["input", "string|array of string|array of integer|array of array of integer", true],
    ["user", "string|null", false]
  ],
  EmbeddingResponse: [
    ["object", "list", true, "list"],
    ["data", "array of EmbeddingVector", true],
    ["model", "string", true],
    ["provider", "string", true],
    ["usage", "UsageInfo", true]
  ],
  EmbeddingVector: [
    ["object", "embedding", true, "embedding"],
    ["index", "integer", true],
    ["embedding", "array of number|string", true]
  ],
  CreateKeyRequest: [
    ["name", "string", true],
    ["tier", "free,pro,enterprise", false, "free"],
    ["monthly_budget_usd", "number|null", false],
    ["allowed_models", "array of string|null", false]
  ],
  GenerationRecord: [
    ["id", "string", true],
    ["model", "string", true],
    ["provider", "string", true],
    ["created_at", "string", true],
    ["usage", "UsageInfo", true],
    ["cost", "GenerationCost", true],
    ["latency_ms", "number", true],
    ["fallback_used", "boolean", true],
    ["cache_hit", "boolean", true]
  ],
  GenerationCost: [
    ["prompt_cost_usd", "number", true],
    ["completion_cost_usd", "number", true],
    ["cache_discount_usd", "number", true],
    ["total_cost_usd", "number", true],
    ["markup_usd", "number", true],
    ["billed_usd", "number", true]
  ],
  HTTPValidationError: [["detail", "array of ValidationError", true]],
  ValidationError: [
    ["loc", "array of string|integer", true],
    ["msg", "string", true],
    ["type", "string", true],
    ["input", "anything", false],
    ["ctx", "object", false]
  ]
}

it.each(Object.entries(tables))("%s has the fields, types, requirements and defaults of its table", (name, rows) => {
  const schema = named(name)
  for (const [field, type, required, byDefault] of rows) {
    const property = schema.properties?.[field]
    assert.isDefined(property, `${name}.${field}`)
    assert.strictEqual(wordsOf(property ?? {}), type, `${name}.${field}`)
    assert.strictEqual(schema.required?.includes(field) ?? false, required, `${name}.${field}`)
    // A generator would send a default with every request, so it is told in words.
    const told = /Default: (\S+)\.$/.exec(property?.description ?? "")?.[1]
    assert.deepStrictEqual(told === undefined ? undefined : JSON.parse(told), byDefault, `${name}.${field}`)
  }
})

it("bounds: temperature 0 to 2, max_tokens above 0, the date-time of a generation, the three tiers", () => {
  const request = named("ChatCompletionRequest").properties ?? {}
  const [temperature] = request["temperature"]?.anyOf ?? []
  assert.deepStrictEqual([temperature?.minimum, temperature?.maximum], [0, 2])
  assert.strictEqual(request["max_tokens"]?.anyOf?.[0]?.exclusiveMinimum, 0)
  assert.strictEqual(named("GenerationRecord").properties?.["created_at"]?.format, "date-time")
  assert.deepStrictEqual(named("ApiKeyTier").enum, ["free", "pro", "enterprise"])
})

it("requests accept unknown members", () => {
  for (const name of ["ChatCompletionRequest", "ChatMessage", "ProviderPreferences", "EmbeddingRequest"]) {
    const schema = named(name)
    assert.notStrictEqual(schema.additionalProperties, false, name)
  }
})

/** The specification's endpoints, with their security, body and response. */
const endpoints: ReadonlyArray<
  readonly [method: string, path: string, security: ReadonlyArray<string>, body: string | null, answer: string]
> = [
  ["get", "/health", [], null, "HealthReport"],
  ["post", "/v1/chat/completions", ["bearer", "apiKey"], "ChatCompletionRequest", "ChatCompletionResponse"],
  ["post", "/v1/embeddings", ["bearer", "apiKey"], "EmbeddingRequest", "EmbeddingResponse"],
  ["get", "/v1/models", ["bearer", "apiKey"], null, "ModelList"],
  ["post", "/v1/privacy/preview", ["bearer", "apiKey"], "PrivacyPreviewRequest", "PrivacyPreview"],
  ["get", "/v1/generations/{generation_id}", ["bearer", "apiKey"], null, "GenerationRecord"],
  ["post", "/v1/keys", ["adminKey", "session"], "CreateKeyRequest", "IssuedApiKey"],
  ["get", "/v1/keys", ["adminKey", "session"], null, "ApiKeyList"],
  ["get", "/v1/admin/overview", ["adminKey", "session"], null, "AdminOverview"],
  ["post", "/auth/register/{channel}/start", [], "StartSignInRequest", "SignInChallenge"],
  ["post", "/auth/register/{channel}/verify", [], "VerifySignInRequest", "SignInTokens"],
  ["get", "/auth/me", ["session"], null, "User"],
  ["get", "/auth/oauth/{provider}/start", [], null, "AuthorizationLocation"],
  ["get", "/auth/oauth/{provider}/callback", [], null, "SignInTokens"]
]

it.each(endpoints)("%s %s is declared with its security, body and response", (method, path, security, body, answer) => {
  const operation = document.paths[path]?.[method]
  assert.isDefined(operation)
  assert.deepStrictEqual(
    (operation?.security ?? []).flatMap((scheme) => Object.keys(scheme)),
    security
  )
  const schema = operation?.requestBody?.content["application/json"]?.schema
  assert.strictEqual(schema === undefined ? null : wordsOf(schema), body)
  assert.strictEqual(operation?.requestBody?.required ?? false, body !== null)
  assert.strictEqual(wordsOf(operation?.responses["200"]?.content?.["application/json"]?.schema ?? {}), answer)
})

it("refresh and logout take a body, or none when the cookie is used", () => {
  for (const [path, answer] of [
    ["/auth/refresh", "SignInTokens"],
    ["/auth/logout", "Done"]
  ] as const) {
    const operation = document.paths[path]?.["post"]
    assert.strictEqual(operation?.requestBody?.required, false)
    assert.include(JSON.stringify(operation?.requestBody?.content), "RefreshTokenRequest")
    assert.strictEqual(wordsOf(operation?.responses["200"]?.content?.["application/json"]?.schema ?? {}), answer)
  }
})

it("422 with HTTPValidationError is declared wherever there are parameters or a body", () => {
  let declared = 0
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const [method, { parameters = [], requestBody, responses }] of Object.entries(operations)) {
      // The Messages API and the Responses API have a 400 instead.
      if (/^\/v1\/(?:messages|responses)/.test(path) || (parameters.length === 0 && requestBody === undefined)) continue
      declared++
      const schema = responses["422"]?.content?.["application/json"]?.schema
      assert.strictEqual(wordsOf(schema ?? {}), "HTTPValidationError", `${method} ${path}`)
    }
  }
  assert.isAtLeast(declared, 8)
})

it("a completion streams as Server-Sent Events too, and every path parameter is required", () => {
  const answers = document.paths["/v1/chat/completions"]?.["post"]?.responses["200"]?.content ?? {}
  assert.deepStrictEqual(Object.keys(answers), ["application/json", "text/event-stream"])
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const { parameters = [] } of Object.values(operations)) {
      const inPath = parameters.filter((parameter) => parameter.in === "path")
      assert.deepStrictEqual(
        inPath.map(({ name }) => `{${name}}`),
        path.match(/\{\w+\}/g) ?? []
      )
      assert.isTrue(inPath.every(({ required }) => required === true))
    }
  }
})

it("parameters declare what they accept: bounds and defaults of numbers, patterns of cursors, moments and headers", () => {
  const seen = new Map<string, Set<string>>()
  for (const operations of Object.values(document.paths)) {
    for (const { parameters = [] } of Object.values(operations)) {
      for (const { name, schema } of parameters) {
        const found = JSON.stringify(schema)
        seen.set(name, (seen.get(name) ?? new Set()).add(found))
      }
    }
  }
  const moment = { type: "string", format: "date-time" }
  const day = { type: "string", format: "date" }
  const expected: Readonly<Record<string, ReadonlyArray<Schema>>> = {
    limit: [
      { type: "integer", minimum: 1, maximum: 100, default: 20 },
      { type: "integer", minimum: 1, maximum: 1000, default: 100 }
    ],
    cursor: [
      ...["gen", "(gen|ref)", "key", "dlv", "usr", "aud"].map((prefix) => `^${prefix}_[0-9a-f]{32}$`),
      "^[0-9]{1,15}$"
    ].map((pattern) => ({ type: "string", pattern })),
    from: [moment, { anyOf: [moment, day] }],
    to: [moment, { anyOf: [moment, day] }],
    "idempotency-key": [{ type: "string", pattern: "^[\\x20-\\x7e]{1,255}$" }]
  }
  for (const [name, schemas] of Object.entries(expected)) {
    assert.sameMembers(
      [...(seen.get(name) ?? [])],
      schemas.map((schema) => JSON.stringify(schema)),
      name
    )
  }
})

it("a pattern needs no flag, so every validator of JSON Schema can use it", () => {
  const patterns = [...JSON.stringify(document).matchAll(/"pattern":("(?:[^"\\]|\\.)*")/g)].map(
    ([, pattern]) => JSON.parse(pattern ?? "") as string
  )
  assert.isAbove(patterns.length, 20)
  for (const pattern of patterns) {
    assert.notMatch(pattern, /\\[pP]\{|\\u\{|\(\?/, pattern)
    assert.doesNotThrow(() => new RegExp(pattern))
  }
})

it("every reference resolves", () => {
  const refs = new Set(JSON.stringify(document).match(/"#\/components\/schemas\/[^"]+"/g))
  for (const ref of refs) assert.isDefined(resolve({ $ref: JSON.parse(ref) as string }), ref)
  assert.isAbove(refs.size, 15)
})

it.effect("the served document equals the stored one", () =>
  Effect.gen(function* () {
    const { send } = yield* TestApp
    const served = yield* send("/openapi.json")
    assert.strictEqual(served.status, 200)
    assert.strictEqual(served.headers.get("content-type"), "application/json")
    assert.deepStrictEqual(JSON.parse(served.text), document)
    assert.strictEqual(document.info.version, "0.1.0")
  }).pipe(Effect.provide(TestApp.layer({ providers: [] })))
)
