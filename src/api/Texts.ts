/**
 * Names and labels of the gateway's own: no control characters, no lone surrogates, and lengths counted in characters. The patterns need no
 * flag, so that every validator of JSON Schema reads them; that surrogates come in pairs no pattern says everywhere.
 */
import { Schema } from "effect"

const isPaired = Schema.makeFilter((text: string) => text.isWellFormed(), {
  expected: "a text without lone surrogates",
  toJsonSchema: () => [{}, true]
})

// oxlint-disable-next-line no-control-regex -- control characters are what it refuses
const printable = /^[^\u0000-\u001f\u007f-\u009f]*$/u

/** At most so many characters. */
export const text = (most: number) =>
  Schema.String.check(Schema.isMaxCodePoints(most), Schema.isPattern(printable), isPaired)

/** A text that says something. */
export const name = (most: number) =>
  text(most).check(
    Schema.isMinLength(1),
    Schema.makeFilter((given: string) => given.trim() !== "", {
      expected: "a text that is not blank",
      toJsonSchema: () => ({ pattern: "\\S" })
    })
  )
