/**
 * What one request gave away for safekeeping: each value under its placeholder. The same value of the same type has the same placeholder
 * throughout the request. A placeholder that the prompt already has as a text is never given out, so that what comes back is never
 * mistaken. It lives as long as its request and is written nowhere.
 */

/** `email` becomes `EMAIL`. */
const labelOf = (type: string): string => type.toUpperCase()

/** Whatever has the form of a placeholder, in any case. */
const form = /\[[a-z][a-z0-9_]{0,48}_\d{1,9}\]/gi

export class Vault {
  readonly #taken = new Set<string>()
  readonly #placeholders = new Map<string, string>()
  /** By upper-case placeholder. */
  readonly #values = new Map<string, string>()
  readonly #counts = new Map<string, number>()

  /** Notes the placeholders that a text of the prompt already has. Comes before the first `placeholder`. */
  reserve(text: string): void {
    if (!text.includes("[")) return
    for (const [found] of text.matchAll(form)) this.#taken.add(found.toUpperCase())
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
