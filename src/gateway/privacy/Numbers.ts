/**
 * Recognises values made of groups of digits: payment cards (issuer's range, length, grouping,
 * Luhn), US social security numbers and IPv4 addresses. One pass finds the groups. Each recogniser
 * then reads the few groups that follow.
 */
import { isIPv4 } from "node:net"
import { type Steps } from "./TimeBudget.ts"
import { beginsWord, endsWord, isDigit, isLetter } from "./Characters.ts"
import { type Libraries } from "./Libraries.ts"
import { matchesIn } from "./Matches.ts"
import { type Span } from "./Span.ts"

const SHORTEST_CARD = 14
const LONGEST_CARD = 19
/** Longer groups are never part of a finding. */
const groupStart = /(?<!\d)\d{1,19}(?!\d)/g

interface Group {
  readonly start: number
  readonly end: number
}

/** The kinds to look for. */
export interface NumberKinds {
  readonly cards: boolean
  readonly ssns: boolean
  readonly addresses: boolean
}

/** Lengths of an issuer's card numbers; empty when the digits belong to no issuer. */
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

/** The ways cards are written: ungrouped, in fours, or like American Express and Diners cards. */
const groupings = /^(?:1[4-9]|4,4,4,4(?:,[1-3])?|4,6,[45])$/

/** Excludes areas, groups and serials that were never issued. */
const isSsn = (text: string): boolean => /^(?!000|666|9)\d{3}\D?(?!00)\d{2}\D?(?!0000)\d{4}$/.test(text)
/** Without dashes, a number counts only when the text calls it a social security number. */
const namedSsn = /(?<![A-Za-z0-9])(?:SSN|social[ _-]?security)[^\d\n]{0,24}(\d{3}[ \u00a0]?\d{2}[ \u00a0]?\d{4})/gi
const versionWords =
  /(?:\b(?:version|ver|release|build|firmware|section|sec|chapter|clause|article|figure|table|step)s?\.?|§)[ :=#(]{0,3}$/i
const CONTEXT = 40
/** `Chrome/120.0.0.0`: a product and its version, as in a browser's user agent. */
const isProduct = (text: string, start: number, address: string): boolean =>
  text[start - 1] === "/" && isLetter(text.charCodeAt(start - 2)) && address.endsWith(".0.0")

export function* findNumbers(
  text: string,
  kinds: NumberKinds,
  { isLuhn }: Libraries,
  add: (span: Span) => void
): Steps<void> {
  const card = (first: Group): void => {
    let [digits, lengths] = ["", ""]
    let isFirst = true
    for (const group of groupsFrom(text, first, text[first.end])) {
      if (digits.length + group.end - group.start > LONGEST_CARD) return
      digits += text.slice(group.start, group.end)
      lengths += `${isFirst ? "" : ","}${group.end - group.start}`
      isFirst = false
      if (!groupings.test(lengths) || !lengthsOf(digits).includes(digits.length)) continue
      if (standsAlone(text, first.start, group.end) && isLuhn(digits)) {
        add({ start: first.start, end: group.end, type: "credit_card" })
      }
    }
  }

  const ssn = ({ end, start }: Group): void => {
    const last = end + "-12-1234".length
    const value = text.slice(start, last)
    if (!/^\d{3}-\d{2}-\d{4}$/.test(value) || !isSsn(value) || isJoined(text, start, last, "-")) return
    if (beginsWord(text, start) && endsWord(text, last)) add({ start, end: last, type: "us_ssn" })
  }

  const address = (first: Group): void => {
    const groups = groupsFrom(text, first, ".", 4)
    const end = groups.at(-1)?.end
    if (groups.length < 4 || end === undefined || isJoined(text, first.start, end, ".")) return
    const address = text.slice(first.start, end)
    if (!isIPv4(address) || !beginsWord(text, first.start) || !endsWord(text, end)) return
    // 1.2.3.4-rc1
    if (text[end] === "-" && isLetter(text.charCodeAt(end + 1))) return
    const before = text.slice(Math.max(0, first.start - CONTEXT), first.start)
    if (versionWords.test(before) || isProduct(text, first.start, address)) return
    add({ start: first.start, end, type: "ip_address" })
  }

  for (const found of matchesIn(text, groupStart)) {
    yield
    if (found === null) continue
    const start = found.index
    const length = found[0].length
    const group = { start, end: start + length }
    if (kinds.cards && (length === 4 || length >= SHORTEST_CARD)) card(group)
    if (kinds.ssns && length === 3 && text[group.end] === "-") ssn(group)
    if (kinds.addresses && length <= 3 && text[group.end] === ".") address(group)
  }
  if (!kinds.ssns) return
  for (const found of matchesIn(text, namedSsn)) {
    yield
    if (found === null) continue
    const { 0: named, 1: digits = "", index } = found
    const end = index + named.length
    if (isSsn(digits) && endsWord(text, end)) add({ start: end - digits.length, end, type: "us_ssn" })
  }
}

const MAX_GROUPS = 5

/** A group and the following groups joined to it by `mark`, at most as many as any kind has. */
const groupsFrom = (
  text: string,
  first: Group,
  mark: string | undefined,
  most: number = MAX_GROUPS
): ReadonlyArray<Group> => {
  const groups = [first]
  if (mark === undefined || !marks.has(mark)) return groups
  for (let end = first.end; groups.length < most && text[end] === mark && isDigit(text.charCodeAt(end + 1));) {
    const start = ++end
    while (end - start <= LONGEST_CARD && isDigit(text.charCodeAt(end))) end++
    groups.push({ start, end })
  }
  return groups
}

const blanks = new Set([" ", "\u00a0", "\u202f"])
const marks = new Set([...blanks, ".", "-"])

/** Whether `mark` joins another group to the text from `start` to `end`, on either side. */
const isJoined = (text: string, start: number, end: number, mark: string): boolean =>
  (text[start - 1] === mark && isDigit(text.charCodeAt(start - 2))) ||
  (text[end] === mark && isDigit(text.charCodeAt(end + 1)))

/**
 * Whether a number is separate: no letter touches it, and only blanks separate it from other
 * groups.
 */
const standsAlone = (text: string, start: number, end: number): boolean =>
  beginsWord(text, start) && endsWord(text, end) && !isJoined(text, start, end, ".") && !isJoined(text, start, end, "-")
