/**
 * Masks a request: finds all values, assigns a placeholder to each, and inserts the placeholders.
 * The search finishes before anything is changed. So a search that fails leaves nothing half
 * masked, and no placeholder is used that some text of the request already contains.
 */
import { type NativeRequest } from "../../domain/Native.ts"
import { allEntities } from "../../domain/Privacy.ts"
import { type TimeBudget, type Steps } from "./TimeBudget.ts"
import { hintsOf } from "./Hints.ts"
import { jsonPieces, looksLikeJson } from "./JsonText.ts"
import { type Scanner } from "./Scanner.ts"
import { foreign, nativeShapes } from "./Shapes.ts"
import {
  type Holder,
  isLabel,
  type Members,
  type Place,
  placeOf,
  rebuilt,
  type Text,
  type Texts,
  textsOf
} from "./TextWalker.ts"
import { PlaceholderMap } from "./PlaceholderMap.ts"

/**
 * A value found in a text: its position in UTF-16 units of the original text, its type, and its
 * placeholder.
 */
export interface Finding extends Place {
  readonly type: string
  readonly placeholder: string
  readonly start: number
  readonly end: number
}

export interface Masked<A> {
  /** The original object when there was nothing to mask. */
  readonly value: A
  readonly findings: ReadonlyArray<Finding>
  readonly placeholders: PlaceholderMap
  /** The body of the request in the form of its own API, if there is one. */
  readonly native?: Members
}

interface Value {
  readonly start: number
  readonly end: number
  readonly type: string
  readonly value: string
  /** The value is a bare JSON number, so its placeholder needs quotes. */
  readonly isNumber: boolean
}

const none: ReadonlyArray<Value> = []
const builtIn: ReadonlySet<string> = new Set(allEntities)
/** Of a request in which nothing was found. */
const noPlaceholders = new PlaceholderMap()

/** Characters of clear texts between two pauses. */
const CLEAR = 16_384

/** Whether a text is searched as it stands, and no recogniser but the operator's finds anything. */
const isClear = ({ json, label, text }: Text): boolean =>
  label === null && json !== "yes" && hintsOf(text) === 0 && (json === "no" || !looksLikeJson(text))

/**
 * Masks a request, a part of one, or any object of the same form. `native`: the same request in the
 * form of its own API, which gets the same placeholders. Yields where it may pause.
 */
export function* mask<A extends Members>(
  target: A,
  scan: Scanner,
  wanted: ReadonlySet<string>,
  budget: TimeBudget,
  native?: Pick<NativeRequest, "body" | "dialect">
): Steps<Masked<A>> {
  const hasOwn = [...wanted].some((type) => !builtIn.has(type))
  const { holders, texts: own } = yield* textsOf(target, hasOwn)
  const body = native === undefined ? null : yield* textsOf(native.body, hasOwn, nativeShapes[native.dialect])
  const texts = body === null ? own : [...own, ...body.texts]
  const search = body === null ? searcher(scan, wanted, budget) : onceEach(searcher(scan, wanted, budget))
  const found: Array<readonly [Text, ReadonlyArray<Value>]> = []
  /** Characters since the last pause. */
  let clear = 0
  for (const text of texts) {
    if (!hasOwn && isClear(text)) {
      clear += text.text.length + 1
      if (clear < CLEAR) continue
      clear = 0
      yield
      continue
    }
    const values = yield* search(text)
    if (values.length > 0) found.push([text, values])
    yield
  }
  const unmasked = native === undefined ? {} : { native: native.body }
  if (found.length === 0) return { value: target, findings: [], placeholders: noPlaceholders, ...unmasked }
  const placeholders = new PlaceholderMap()
  for (const { is, text } of texts) yield* placeholders.reserve(text, is === "tool name")
  const findings: Array<Finding> = []
  /** Texts whose findings are told: most texts of `native` are in the request too. */
  const told = new Set<string>()
  for (const [text, values] of found) {
    const { holder, is, key } = text
    let masked = ""
    let from = 0
    const placed: Array<Omit<Finding, keyof Place>> = []
    for (const { end, isNumber, start, type, value } of values) {
      const placeholder = placeholders.placeholder(type, value)
      const shown = is === "tool name" ? placeholder.slice(1, -1) : isNumber ? `"${placeholder}"` : placeholder
      placed.push({ type, placeholder, start, end })
      masked += text.text.slice(from, start) + shown
      from = end
      yield
    }
    masked += text.text.slice(from)
    if (is === "name") (holder.names ??= new Map()).set(String(key), masked)
    else (holder.values ??= new Map()).set(key, masked)
    if (is === "tool name") placeholders.rename(masked, text.text)
    if (isOf(holder, body) && told.has(text.text)) continue
    if (body !== null) told.add(text.text)
    const place = placeOf(text)
    for (const finding of placed) findings.push({ ...finding, ...place })
  }
  const value = yield* rebuilt(target, holders)
  if (native === undefined || body === null) return { value, findings, placeholders }
  return { value, findings, placeholders, native: yield* rebuilt(native.body, body.holders) }
}

/** Whether a text of this holder is one of `texts`. */
const isOf = (holder: Holder, texts: Texts | null): boolean => {
  if (texts === null) return false
  let root = holder
  while (root.parent !== null) root = root.parent
  return texts.holders[0] === root
}

type Search = (text: Text) => Steps<ReadonlyArray<Value>>

/** Searches a text that occurs in several places once. */
const onceEach = (search: Search): Search => {
  const known = new Map<string, Map<string, ReadonlyArray<Value>>>()
  return function* (text) {
    const { bytesFrom, is, json, label } = text
    const kind = `${is} ${json} ${bytesFrom} ${label}`
    const kinds = known.get(text.text) ?? new Map<string, ReadonlyArray<Value>>()
    known.set(text.text, kinds)
    const values = kinds.get(kind) ?? (yield* search(text))
    kinds.set(kind, values)
    return values
  }
}

/** Makes the search of one text. A member name that occurs in many places is searched once. */
const searcher = (scan: Scanner, wanted: ReadonlySet<string>, budget: TimeBudget): Search => {
  const names = new Map<string, ReadonlyArray<Value>>()

  /**
   * `label` is the name of the member that holds the text. A recogniser may need it, and a finding
   * never begins in it.
   */
  function* plain(text: string, label: string | null, isJson = false): Steps<ReadonlyArray<Value>> {
    const before = label === null || text.length > LONGEST_LABELLED ? "" : `${label}: `
    const spans = yield* scan(before + text, wanted, budget)
    if (spans.length === 0) return none
    const values: Array<Value> = []
    for (const { end: to, start: at, type } of spans) {
      yield
      const [start, end] = [Math.max(0, at - before.length), to - before.length]
      const value = text.slice(start, Math.max(0, end))
      if (value !== "") values.push({ start, end, type, value, isNumber: isJson && /^\d+$/.test(value) })
    }
    return values
  }

  function* json(text: string): Steps<ReadonlyArray<Value>> {
    const values: Array<Value> = []
    // Matches `"password": "…"`: a name, a colon, and its value.
    let before: string | null = null
    let label: string | null = null
    for (const piece of jsonPieces(text)) {
      yield
      if (!piece.isString) label = before !== null && /^\s{0,64}:/.test(piece.text) && isLabel(before) ? before : null
      for (const value of yield* plain(piece.text, piece.isString ? label : null, !piece.isString)) {
        yield
        values.push({ ...value, start: piece.offset(value.start), end: piece.offset(value.end) })
      }
      before = piece.isString ? piece.text : null
    }
    return values
  }

  return function* (text: Text): Steps<ReadonlyArray<Value>> {
    if (text.bytesFrom !== null && (yield* isBase64(text.text, text.bytesFrom))) return none
    if (text.json === "yes" || (text.json === "maybe" && looksLikeJson(text.text))) return yield* json(text.text)
    if (text.is !== "name") return yield* plain(text.text, text.label)
    const known = names.get(text.text)
    if (known !== undefined) return known
    const values = yield* plain(text.text, null)
    names.set(text.text, values)
    return values
  }
}

/** A longer text contains enough context of its own. */
const LONGEST_LABELLED = 4_096
const WINDOW = 65_536

function* isBase64(text: string, from: number): Steps<boolean> {
  for (let at = from; at < text.length; at += WINDOW) {
    if (foreign.test(text.slice(at, at + WINDOW))) return false
    yield
  }
  return true
}

/** Number of findings per type. */
export const countsOf = (findings: ReadonlyArray<Finding>): Readonly<Record<string, number>> => {
  const counts: Record<string, number> = {}
  for (const { type } of findings) counts[type] = (counts[type] ?? 0) + 1
  return counts
}
