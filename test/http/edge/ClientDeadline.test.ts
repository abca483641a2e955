import { assert, it } from "@effect/vitest"
import { clientDeadlineOf as of } from "../../../src/http/edge/ClientDeadline.ts"

it("our own header is explicit; the SDKs' header is not, and is in seconds", () => {
  assert.deepStrictEqual(of({ "x-tollgate-timeout-ms": "2500" }), { ms: 2_500, explicit: true })
  assert.deepStrictEqual(of({ "x-stainless-timeout": "600" }), { ms: 600_000, explicit: false })
  assert.deepStrictEqual(of({ "x-stainless-timeout": "0.5", "x-tollgate-timeout-ms": "100" }), {
    ms: 100,
    explicit: true
  })
})

it("a value that is not a positive number is ignored", () => {
  for (const value of ["", "soon", "0", "-1", "NaN", "Infinity"]) {
    assert.isNull(of({ "x-tollgate-timeout-ms": value, "x-stainless-timeout": value }), value)
  }
  assert.isNull(of({}))
})
