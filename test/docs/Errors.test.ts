/**
 * docs/reference/errors.md against the code: a row for every error that a client can get, and for
 * no other.
 */
import { assert, describe, it } from "@effect/vitest"
import { wireOf } from "../../src/http/errors/WireErrors.ts"
import { reasons } from "../support/reasons.ts"
import { textOf } from "./blocks.ts"

/** http/Failure makes it of every defect: it has no reason. */
const defect = "| 500 | `internal_error` | `internal_error` | yes |"

describe("docs/reference/errors.md", () => {
  it("has a row for every error, and for no other", () => {
    const rows = reasons.map((reason) => {
      const { code, retryable, status, type } = wireOf(reason)
      return `| ${status} | \`${type}\` | \`${code}\` | ${retryable ? "yes" : "no"} |`
    })
    const shown = textOf("docs/reference/errors.md").match(/^\| \d{3} \| `\w+` \| `\w+` \| (?:yes|no) \|/gm) ?? []
    assert.deepStrictEqual(shown.toSorted(), [...new Set([...rows, defect])].toSorted())
  })
})
