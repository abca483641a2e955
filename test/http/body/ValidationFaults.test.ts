import { assert, it } from "@effect/vitest"
import { Result, Schema, type SchemaIssue } from "effect"
import { MAX_FAULTS, validationFaults } from "../../../src/http/body/ValidationFaults.ts"
import { validationResponse } from "../../../src/http/errors/ErrorResponse.ts"

const issueOf = (schema: Schema.Codec<unknown, unknown>, value: unknown): SchemaIssue.Issue => {
  const decoded = Schema.decodeUnknownResult(schema, { errors: "all", onExcessProperty: "error" })(value)
  if (Result.isSuccess(decoded)) return assert.fail("it was taken")
  return decoded.failure.issue
}
const faultsOf = (schema: Schema.Codec<unknown, unknown>, value: unknown) =>
  validationFaults(issueOf(schema, value), "body", value)

it("reports at most 100 faults and stops there", () => {
  const value = { texts: Array.from({ length: 1_000 }, (_, at) => at), more: "x" }
  const issue = issueOf(Schema.Struct({ texts: Schema.Array(Schema.String), more: Schema.Int }), value)
  const texts = issue._tag === "Composite" ? issue.issues[0] : undefined
  const inner = texts?._tag === "Pointer" && texts.issue._tag === "Composite" ? texts.issue.issues : []
  assert.lengthOf(inner, 1_000)
  Object.defineProperty(inner, MAX_FAULTS + 1, { get: () => assert.fail("it looked on") })
  const faults = validationFaults(issue, "body", value)
  assert.lengthOf(faults, MAX_FAULTS)
  assert.deepStrictEqual(faults.at(-1)?.loc, ["body", "texts", 99])
})

it("keeps the response small, whatever a client names its members", () => {
  const long = "n".repeat(100_000)
  const value = Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`${at}${long}`, long]))
  const faults = faultsOf(Schema.Struct({ name: Schema.optionalKey(Schema.String) }), value)
  assert.lengthOf(faults, MAX_FAULTS)
  assert.isBelow(JSON.stringify(faults).length, 30_000)
  const { body } = validationResponse(faults, { requestId: "req_1", surface: "openai" })
  assert.isBelow(body._tag === "Uint8Array" ? body.body.length : Number.POSITIVE_INFINITY, 30_000)
})

it("names the nearest known member of an unknown one", () => {
  const schema = Schema.Struct({ monthly_budget_usd: Schema.optionalKey(Schema.Finite) })
  assert.deepStrictEqual(faultsOf(schema, { monthly_budget: 5, colour: "red" }), [
    {
      loc: ["body", "monthly_budget"],
      msg: "Extra inputs are not permitted, did you mean 'monthly_budget_usd'?",
      type: "extra_forbidden",
      input: 5
    },
    { loc: ["body", "colour"], msg: "Extra inputs are not permitted", type: "extra_forbidden", input: "red" }
  ])
})

it("says whether a number is infinite, too large for an integer, or not an integer", () => {
  const told = (schema: Schema.Codec<unknown, unknown>, text: string) =>
    faultsOf(Schema.Struct({ n: schema }), JSON.parse(`{"n":${text}}`)).map(({ msg, type }) => `${type}: ${msg}`)
  assert.deepStrictEqual(told(Schema.Finite, "1e400"), ["finite_number: Input should be a finite number"])
  assert.deepStrictEqual(told(Schema.Int, "1e400"), ["finite_number: Input should be a finite number"])
  assert.deepStrictEqual(told(Schema.Int, "9007199254740993"), [
    "less_than_equal: Input should be less than or equal to 9007199254740991"
  ])
  assert.deepStrictEqual(told(Schema.Int, "1.5"), [
    "int_type: Input should be a valid integer, got a number with a fractional part"
  ])
})

it("reports bounds and lengths in Pydantic's words, with their context", () => {
  const told = (schema: Schema.Codec<unknown, unknown>, value: unknown) => {
    const [fault] = faultsOf(Schema.Struct({ it: schema }), { it: value })
    return [fault?.type, fault?.msg, fault?.ctx]
  }
  const words = [
    [
      told(Schema.String.check(Schema.isMinLength(1)), ""),
      ["string_too_short", "String should have at least 1 character", { min_length: 1 }]
    ],
    [
      told(Schema.String.check(Schema.isMaxCodePoints(2)), "abc"),
      ["string_too_long", "String should have at most 2 characters", { max_length: 2 }]
    ],
    [
      told(Schema.Array(Schema.String).check(Schema.isMinLength(2)), ["a"]),
      [
        "too_short",
        "List should have at least 2 items after validation, not 1",
        { field_type: "List", min_length: 2, actual_length: 1 }
      ]
    ],
    [
      told(Schema.Record(Schema.String, Schema.String).check(Schema.isMaxProperties(1)), { a: "", b: "" }),
      [
        "too_long",
        "Dictionary should have at most 1 item after validation, not 2",
        { field_type: "Dictionary", max_length: 1, actual_length: 2 }
      ]
    ],
    [
      told(Schema.Finite.check(Schema.isGreaterThan(0)), 0),
      ["greater_than", "Input should be greater than 0", { gt: 0 }]
    ],
    [
      told(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 2 })), -1),
      ["greater_than_equal", "Input should be greater than or equal to 0", { ge: 0 }]
    ],
    [
      told(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 2 })), 3),
      ["less_than_equal", "Input should be less than or equal to 2", { le: 2 }]
    ]
  ]
  for (const [found, expected] of words) assert.deepStrictEqual(found, expected)
})
