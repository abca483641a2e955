/**
 * What is made of groups of digits: payment cards (issuer's range, length, grouping, Luhn), US social security numbers and IPv4
 * addresses. One pass finds the runs of groups; each kind then looks at how a run is grouped.
 */
import { isIPv4 } from "node:net"
import { type Budget } from "./Budget.ts"
import { beginsWord, endsWord, isLetter } from "./Characters.ts"
import { type Libraries } from "./Libraries.ts"
import { type Span } from "./Span.ts"

const runs = /\d+(?:[ \u00a0\u202f.-]\d+)*/g
const SHORTEST = "1.1.1.1".length
const SHORTEST_CARD = 14
const LONGEST_CARD = 19

interface Group {
  readonly start: number
  readonly end: number
}

/** Which kinds are wanted. */
export interface NumberKinds {
  readonly cards: boolean
  readonly ssns: boolean
  readonly addresses: boolean
}

/** Lengths of an issuer's card numbers; none for digits that no issuer begins with. */
const lengthsOf = (digits: string): ReadonlyArray<number> => {
  const four = Number(digits.slice(0, 4))
  const two = Math.floor(four / 100)
  if (digits.startsWith("4")) return [16, 19]
  if ((two >= 51 && two <= 55) || (four >= 2221 && four <= 2720)) return [16]
  if (two === 34 || two === 37) return [15]
  if (two === 36 || two === 38 || two === 39 || (four >= 3000 && four <= 3059)) return [14]
  if (two === 60 || two === 65 || two === 64 || (four >= 3528 && four <= 3589)) return [16, 17, 18, 19]
  return two === 62 || two === 67 || two === 50 || (two >= 56 && two <= 58) || two === 63 ? [16, 17, 18, 19] : []
}

/** As cards are written: in one, in fours, or as on American Express and Diners cards. */
const groupings = /^(?:1[4-9]|4,4,4,4(?:,[1-3])?|4,6,[45])$/

/** Areas, groups and serials that were never given out are none. */
const isSsn = (text: string): boolean => /^(?!000|666|9)\d{3}\D?(?!00)\d{2}\D?(?!0000)\d{4}$/.test(text)
/** Without dashes a number is one only where it is called so. */
const namedSsn = /\b(?:SSN|social security)[^\d\n]{0,24}(\d{3}[ \u00a0]?\d{2}[ \u00a0]?\d{4})/gi
const versionWords =
  /(?:\b(?:version|ver|release|build|firmware|section|sec|chapter|clause|article|figure|table|step)s?\.?|§)[ :=#(]{0,3}$/i
const CONTEXT = 40
/** `Chrome/120.0.0.0`: a product and its version, as browsers name themselves. */
const isProduct = (text: string, start: number, address: string): boolean =>
  text[start - 1] === "/" && isLetter(text.charCodeAt(start - 2)) && address.endsWith(".0.0")

export const findNumbers = (
  text: string,
  kinds: NumberKinds,
  { isLuhn }: Libraries,
  budget: Budget,
  add: (span: Span) => void
): void => {
  const cards = (groups: ReadonlyArray<Group>): void => {
    for (const [from, first] of groups.entries()) {
      const size = first.end - first.start
      if (size !== 4 && size < SHORTEST_CARD) continue
      if (budget.isOver()) return
      let [digits, lengths] = ["", ""]
      const mark = text[first.end]
      for (let to = from; to < groups.length; to++) {
        const group = groups[to]
        if (group === undefined || digits.length + group.end - group.start > LONGEST_CARD) break
        if (to > from && text[group.start - 1] !== mark) break
        digits += text.slice(group.start, group.end)
        lengths += `${to > from ? "," : ""}${group.end - group.start}`
        if (!groupings.test(lengths) || !lengthsOf(digits).includes(digits.length)) continue
        if (!standsAlone(text, groups, from, to) || !isLuhn(digits)) continue
        add({ start: first.start, end: group.end, type: "credit_card" })
      }
    }
  }

  const ssns = (groups: ReadonlyArray<Group>): void => {
    for (const { first, last } of joined(text, groups, "-")) {
      const value = text.slice(first.start, last.end)
      if (!/^\d{3}-\d{2}-\d{4}$/.test(value) || !isSsn(value)) continue
      if (!beginsWord(text, first.start) || !endsWord(text, last.end)) continue
      add({ start: first.start, end: last.end, type: "us_ssn" })
    }
  }

  const addresses = (groups: ReadonlyArray<Group>): void => {
    for (const { count, first, last } of joined(text, groups, ".")) {
      if (count !== 4) continue
      if (budget.isOver()) return
      const address = text.slice(first.start, last.end)
      if (!isIPv4(address) || !beginsWord(text, first.start) || !endsWord(text, last.end)) continue
      // 1.2.3.4-rc1
      if (text[last.end] === "-" && isLetter(text.charCodeAt(last.end + 1))) continue
      const before = text.slice(Math.max(0, first.start - CONTEXT), first.start)
      if (versionWords.test(before) || isProduct(text, first.start, address)) continue
      add({ start: first.start, end: last.end, type: "ip_address" })
    }
  }

  for (const { 0: run, index } of text.matchAll(runs)) {
    if (run.length < SHORTEST) continue
    if (budget.isOver()) return
    const groups = groupsOf(run, index)
    if (kinds.cards && run.length >= SHORTEST_CARD) cards(groups)
    if (kinds.ssns) ssns(groups)
    if (kinds.addresses && groups.length >= 4) addresses(groups)
  }
  if (!kinds.ssns) return
  for (const { 0: named, 1: digits = "", index } of text.matchAll(namedSsn)) {
    const end = index + named.length
    if (isSsn(digits) && endsWord(text, end)) add({ start: end - digits.length, end, type: "us_ssn" })
  }
}

const groupsOf = (run: string, offset: number): ReadonlyArray<Group> => {
  const groups: Array<Group> = []
  let start = 0
  for (let at = 1; at <= run.length; at++) {
    const code = run.charCodeAt(at)
    if (code >= 48 && code <= 57) continue
    groups.push({ start: offset + start, end: offset + at })
    start = ++at
  }
  return groups
}

/** Whether the groups from `from` to `to` are a number of their own: no letter touches them, other groups are a blank away. */
const standsAlone = (text: string, groups: ReadonlyArray<Group>, from: number, to: number): boolean => {
  const [first, last] = [groups[from], groups[to]]
  if (first === undefined || last === undefined) return false
  if (!beginsWord(text, first.start) || !endsWord(text, last.end)) return false
  return (from === 0 || isBlank(text[first.start - 1])) && (to === groups.length - 1 || isBlank(text[last.end]))
}

const isBlank = (character: string | undefined): boolean =>
  character === " " || character === "\u00a0" || character === "\u202f"

/** The longest sequences of groups that `mark` joins. */
const joined = (text: string, groups: ReadonlyArray<Group>, mark: "-" | "."): ReadonlyArray<Joined> => {
  const found: Array<Joined> = []
  let current: Joined | undefined
  for (const group of groups) {
    if (current !== undefined && text[group.start - 1] === mark && current.last.end === group.start - 1) {
      current = { first: current.first, last: group, count: current.count + 1 }
      continue
    }
    if (current !== undefined && current.count > 2) found.push(current)
    current = { first: group, last: group, count: 1 }
  }
  if (current !== undefined && current.count > 2) found.push(current)
  return found
}

interface Joined {
  readonly first: Group
  readonly last: Group
  readonly count: number
}
