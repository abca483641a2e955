/**
 * Lists the faults of a value whose schema stopped at the first one, without looking at all of a large value: at all members, but only
 * at the first entries of its lists. Where there is no fault among these, the one that is known is the only one that is told.
 */
import { Result, type Schema, SchemaParser, type SchemaAST, type SchemaIssue } from "effect"

/** Of all lists together; of each list the first entry comes on top. */
const MAX_ENTRIES = 200
/** Of all objects together; with more of them the fault that is known is told alone. */
const MAX_MEMBERS = 5_000

/** For the decode before. Stopping at the first fault, it also takes less time over a value without any. */
export const stopAtFirst: SchemaAST.ParseOptions = { errors: "first" }

/** The faults of `value`, one of which is `first`. `options`: what else the decode was told. */
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
