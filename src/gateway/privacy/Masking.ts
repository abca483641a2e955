/**
 * Masks what has texts: finds every value, gives each a placeholder, puts the placeholders in. First all is searched and nothing changed,
 * so that a search that fails leaves nothing half masked, and so that no placeholder is given out that another text of the
 * request already has.
 */
import { type Budget } from "./Budget.ts"
import { jsonPieces, looksLikeJson } from "./JsonText.ts"
import { type Scanner } from "./Scanner.ts"
import { type Place, type Visit } from "./Texts.ts"
import { Vault } from "./Vault.ts"

/** A value in a text: where, in UTF-16 units of the text as it was sent, of which type, and behind which placeholder. */
export interface Finding extends Pick<Place, "message" | "path"> {
  readonly type: string
  readonly placeholder: string
  readonly start: number
  readonly end: number
}

export interface Masked<A> {
  /** The same object as was given when there was nothing to mask. */
  readonly value: A
  readonly findings: ReadonlyArray<Finding>
  readonly vault: Vault
}

interface Value {
  readonly start: number
  readonly end: number
  readonly type: string
  readonly value: string
  /** A bare number of JSON: its placeholder needs quotes. */
  readonly isNumber: boolean
}

const none: ReadonlyArray<Value> = []

/** `walk` shows every text of `target` to `visit`, each time the same texts in the same order. Null: the budget ran out. */
export const mask = <A>(
  target: A,
  walk: (target: A, visit: Visit) => A,
  scan: Scanner,
  wanted: ReadonlySet<string>,
  budget: Budget
): Masked<A> | null => {
  const vault = new Vault()
  const found: Array<ReadonlyArray<Value>> = []
  let any = false
  walk(target, (text, place) => {
    const values = budget.isOver() ? none : valuesIn(text, place, scan, wanted, budget)
    any ||= values.length > 0
    found.push(values)
    return text
  })
  if (budget.isOver()) return null
  if (!any) return { value: target, findings: [], vault }
  walk(target, (text) => {
    vault.reserve(text)
    return text
  })
  const findings: Array<Finding> = []
  let at = 0
  const value = walk(target, (text, { message, path }) => {
    const values = found[at++] ?? none
    if (values.length === 0) return text
    let masked = ""
    let from = 0
    for (const { end, isNumber, start, type, value } of values) {
      const placeholder = vault.placeholder(type, value)
      findings.push({ type, placeholder, start, end, message, path })
      masked += text.slice(from, start) + (isNumber ? `"${placeholder}"` : placeholder)
      from = end
    }
    return masked + text.slice(from)
  })
  return { value, findings, vault }
}

const valuesIn = (
  text: string,
  { json }: Place,
  scan: Scanner,
  wanted: ReadonlySet<string>,
  budget: Budget
): ReadonlyArray<Value> => {
  if (json === "no" || (json === "maybe" && !looksLikeJson(text))) {
    return (scan(text, wanted, budget) ?? none).map((span) => ({
      ...span,
      value: text.slice(span.start, span.end),
      isNumber: false
    }))
  }
  const values: Array<Value> = []
  for (const piece of jsonPieces(text)) {
    if (budget.isOver()) break
    for (const { end, start, type } of scan(piece.text, wanted, budget) ?? none) {
      const value = piece.text.slice(start, end)
      const isNumber = !piece.isString && /^\d+$/.test(value)
      values.push({ start: piece.offset(start), end: piece.offset(end), type, value, isNumber })
    }
  }
  return values
}

/** How many values of each type. */
export const countsOf = (findings: ReadonlyArray<Finding>): Readonly<Record<string, number>> => {
  const counts: Record<string, number> = {}
  for (const { type } of findings) counts[type] = (counts[type] ?? 0) + 1
  return counts
}
