/**
 * Names and labels in the gateway's own requests: no control characters, no lone surrogates,
 * lengths in characters. The patterns need no flags, so every JSON Schema validator can use them.
 * The check for surrogates is not in the document, because a portable pattern cannot express it.
 */
import { Schema } from "effect"

const isPaired = Schema.makeFilter((text: string) => text.isWellFormed(), {
  expected: "a text without lone surrogates",
  toJsonSchema: () => [{}, true]
})

// oxlint-disable-next-line no-control-regex -- control characters are what it refuses
const printable = /^[^\u0000-\u001f\u007f-\u009f]*$/u

/** At most `most` characters. */
export const text = (most: number) =>
  Schema.String.check(Schema.isMaxCodePoints(most), Schema.isPattern(printable), isPaired)

/** A text that is not blank. */
export const name = (most: number) =>
  text(most).check(
    Schema.isMinLength(1),
    Schema.makeFilter((given: string) => given.trim() !== "", {
      expected: "a text that is not blank",
      toJsonSchema: () => ({ pattern: "\\S" })
    })
  )
