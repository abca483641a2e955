import { assert, describe, it } from "@effect/vitest"
import { answerSchema } from "../../../src/providers/anthropic/Schema.ts"

describe("answerSchema", () => {
  it("closes objects at every depth and leaves out what the API refuses", () => {
    const schema = {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      properties: {
        minimum: { type: "integer", minimum: 1, maximum: 9, multipleOf: 2 },
        name: { type: "string", minLength: 1, pattern: "^a", format: "email" },
        code: { type: "string", format: "iban" },
        list: { type: "array", minItems: 1, maxItems: 3, items: { type: "object", properties: {} } },
        pair: { type: "array", minItems: 2, items: { $ref: "#/$defs/one" } },
        either: { oneOf: [{ type: "string", maxLength: 3 }, { type: "null" }] }
      },
      required: ["minimum"],
      additionalProperties: { type: "string" },
      $defs: { one: { type: "object", properties: { a: { const: 1 } }, minProperties: 1 } }
    }
    assert.deepStrictEqual(answerSchema(schema), {
      type: "object",
      properties: {
        minimum: { type: "integer" },
        name: { type: "string", pattern: "^a", format: "email" },
        code: { type: "string" },
        list: { type: "array", minItems: 1, items: { type: "object", properties: {}, additionalProperties: false } },
        pair: { type: "array", items: { $ref: "#/$defs/one" } },
        either: { anyOf: [{ type: "string" }, { type: "null" }] }
      },
      required: ["minimum"],
      additionalProperties: false,
      $defs: { one: { type: "object", properties: { a: { const: 1 } }, additionalProperties: false } }
    })
  })

  it("leaves what is no schema as it is", () => {
    assert.deepStrictEqual(answerSchema({ enum: ["a"], anyOf: "x", properties: true, items: false }), {
      enum: ["a"],
      anyOf: "x",
      properties: true,
      items: false
    })
  })
})
