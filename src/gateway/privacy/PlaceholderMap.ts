/**
 * The values of one request by placeholder. The same value of the same type has the same
 * placeholder throughout the request. A placeholder that the prompt already contains as text is
 * never assigned, so restoring is unambiguous. The map lives as long as its request and is never
 * written anywhere.
 */

import { type Steps } from "./TimeBudget.ts"
import { matchesIn } from "./Matches.ts"

/** `email` becomes `EMAIL`. */
const labelOf = (type: string): string => type.toUpperCase()

/** Everything that has the form of a placeholder, in any case, and with Markdown's backslashes. */
const form = /\[[a-z](?:[a-z0-9]|\\{0,2}_){0,48}\\{0,2}_\d{1,9}\\{0,2}\]/gi
/** The same without brackets, as in the name of a tool. */
const bareForm = /[a-z][a-z0-9_]{0,48}_\d{1,9}/gi

export class PlaceholderMap {
  readonly #taken = new Set<string>()
  readonly #placeholders = new Map<string, string>()
  /** Keyed by the upper-case placeholder. */
  readonly #values = new Map<string, string>()
  readonly #counts = new Map<string, number>()
  /** Original names of tools, by their masked names. */
  readonly #names = new Map<string, string>()

  /** Records the masked name of a tool. */
  rename(masked: string, name: string): void {
    this.#names.set(masked, name)
  }

  /** The original name of a tool that a model calls by its masked name. */
  toolName(called: string): string {
    return this.#names.get(called) ?? called
  }

  /**
   * Records the placeholders that a text of the prompt already contains. Must precede the first
   * call of `placeholder`.
   */
  *reserve(text: string, isToolName: boolean): Steps<void> {
    if (isToolName) {
      for (const found of matchesIn(text, bareForm)) {
        if (found !== null) this.#taken.add(`[${found[0].toUpperCase()}]`)
        yield
      }
    }
    if (!text.includes("[")) return
    for (const found of matchesIn(text, form)) {
      if (found !== null) this.#taken.add(found[0].replaceAll("\\", "").toUpperCase())
      yield
    }
  }

  placeholder(type: string, value: string): string {
    const name = `${type}\n${value}`
    const known = this.#placeholders.get(name)
    if (known !== undefined) return known
    const label = labelOf(type)
    let count = this.#counts.get(label) ?? 0
    let placeholder: string
    do placeholder = `[${label}_${++count}]`
    while (this.#taken.has(placeholder))
    this.#counts.set(label, count)
    this.#placeholders.set(name, placeholder)
    this.#values.set(placeholder, value)
    return placeholder
  }

  /**
   * The value of a placeholder as a model wrote it; undefined when it is not one of this request.
   */
  value(placeholder: string): string | undefined {
    return this.#values.get(placeholder.replaceAll("\\", "").toUpperCase())
  }

  get isEmpty(): boolean {
    return this.#values.size === 0
  }

  /** In upper case, without numbers: `EMAIL`. */
  get labels(): ReadonlyArray<string> {
    return [...this.#counts.keys()]
  }
}
