/**
 * What one request gave away for safekeeping: each value under its placeholder. The same value of the same type has the same placeholder
 * throughout the request. A placeholder that the prompt already has as a text is never given out, so that what comes back is never
 * mistaken. It lives as long as its request and is written nowhere.
 */

import { type Steps } from "./TimeBudget.ts"
import { matchesIn } from "./Matches.ts"

/** `email` becomes `EMAIL`. */
const labelOf = (type: string): string => type.toUpperCase()

/** Whatever has the form of a placeholder, in any case, and with the backslashes of Markdown. */
const form = /\[[a-z](?:[a-z0-9]|\\{0,2}_){0,48}\\{0,2}_\d{1,9}\\{0,2}\]/gi
/** The same without brackets, as a tool's name has it. */
const bareForm = /[a-z][a-z0-9_]{0,48}_\d{1,9}/gi

export class PlaceholderMap {
  readonly #taken = new Set<string>()
  readonly #placeholders = new Map<string, string>()
  /** By upper-case placeholder. */
  readonly #values = new Map<string, string>()
  readonly #counts = new Map<string, number>()
  /** Names of tools by what they are called while they are masked. */
  readonly #names = new Map<string, string>()

  /** Notes what a tool is called while its name is masked. */
  rename(masked: string, name: string): void {
    this.#names.set(masked, name)
  }

  /** The tool's own name behind what a model calls it. */
  toolName(called: string): string {
    return this.#names.get(called) ?? called
  }

  /** Notes the placeholders that a text of the prompt already has. Comes before the first `placeholder`. */
  *reserve(text: string, isToolName: boolean): Steps<void> {
    if (isToolName) for (const [found] of text.matchAll(bareForm)) this.#taken.add(`[${found.toUpperCase()}]`)
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

  /** The value behind what a model made of a placeholder; undefined when it is none of this request's. */
  value(placeholder: string): string | undefined {
    return this.#values.get(placeholder.replaceAll("\\", "").toUpperCase())
  }

  get isEmpty(): boolean {
    return this.#values.size === 0
  }

  /** In upper case, without number: `EMAIL`. */
  get labels(): ReadonlyArray<string> {
    return [...this.#counts.keys()]
  }
}
