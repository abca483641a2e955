/**
 * Lists the faults of a value after its decode stopped at the first one. To bound the time for a
 * large value, it checks all members but only the first entries of lists. If it finds no fault
 * there, the first one is reported alone.
 */
import { Result, type Schema, SchemaParser, type SchemaAST, type SchemaIssue } from "effect"

/** Most entries of all lists together. The first entry of each list is checked in any case. */
const MAX_ENTRIES = 200
/** Most members of all objects together. Beyond that, the first fault is reported alone. */
const MAX_MEMBERS = 5_000

/** Options of the first decode. Stopping at the first fault is also faster for a valid value. */
export const stopAtFirst: SchemaAST.ParseOptions = { errors: "first" }

/**
 * The faults of `value`, of which `first` is one. `options` are the other options of the decode.
 */
export const firstFaults = (
  schema: Schema.Decoder<unknown>,
  options: SchemaAST.ParseOptions,
  value: unknown,
  first: SchemaIssue.Issue
): SchemaIssue.Issue => {
  const sample = new Sample()
  const part = sample.of(value)
  if (sample.isTooWide) return first
  const decoded = SchemaParser.decodeUnknownResult(schema, { ...options, errors: "all" })(part)
  return Result.isFailure(decoded) ? decoded.failure : first
}

class Sample {
  #left = MAX_ENTRIES
  #members = MAX_MEMBERS

  get isTooWide(): boolean {
    return this.#members < 0
  }

  of(value: unknown): unknown {
    if (typeof value !== "object" || value === null || this.isTooWide) return value
    if (!Array.isArray(value)) {
      const members = Object.entries(value)
      this.#members -= members.length
      if (this.isTooWide) return value
      return Object.fromEntries(members.map(([name, member]) => [name, this.of(member)]))
    }
    const entries: Array<unknown> = []
    for (const entry of value) {
      if (entries.length > 0 && this.#left <= 0) break
      this.#left--
      entries.push(this.of(entry))
    }
    return entries
  }
}
