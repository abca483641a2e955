/**
 * Collects everything in an outgoing request that may contain personal data, with its place: all
 * texts, numbers and member names, except those that KeptPlaces.ts lists. The walk is not
 * recursive, so the depth of a request does not matter, and it can pause anywhere.
 */
import { Predicate } from "effect"
import { isRawNumber } from "../../domain/json/Json.ts"
import { type Steps } from "./TimeBudget.ts"
import { bytesFrom, isBound, isId, isWord, requestShape, type Shape } from "./Shapes.ts"

type Key = string | number

/** The root object of one search. */
export type Members = Readonly<Record<string, unknown>>

/** An object or a list on the path, with its replacement values. */
export interface Holder {
  readonly parent: Holder | null
  /** Key in the parent. */
  readonly key: Key
  readonly value: object
  values: Map<Key, unknown> | null
  names: Map<string, string> | null
}

export interface Text {
  readonly text: string
  readonly holder: Holder
  readonly key: Key
  readonly is: "text" | "number" | "name" | "tool name"
  /** Whether the text is JSON, or is treated as JSON if it looks like it. */
  readonly json: "yes" | "maybe" | "no"
  /** Where base64 must begin for the text to be left alone; null: the text is always searched. */
  readonly bytesFrom: number | null
  /**
   * Name of the member that holds the text, if the name hints at its content, such as `password`.
   */
  readonly label: string | null
}

export interface Texts {
  readonly texts: ReadonlyArray<Text>
  /** Parents precede their children. */
  readonly holders: ReadonlyArray<Holder>
}

interface Frame {
  readonly holder: Holder
  /** Null: a list. */
  readonly names: ReadonlyArray<string> | null
  readonly size: number
  readonly shape: Shape | undefined
  readonly json: "maybe" | "no"
  /** What KeptPlaces.ts says about the numbers in here. */
  readonly numbers: "bounds" | "weights" | null
  readonly label: string
  at: number
}

/** A finding is always longer than such a name, except one of an operator's pattern. */
const plainName = /^[A-Za-z_]{1,20}$/
/** A token number as a member name. */
const token = /^\d{1,8}$/
/** A social security number, with nine digits, is the shortest number that is a finding. */
const SHORTEST_NUMBER = 1e8
const labelWords =
  /key|secret|token|passw|pwd|passphrase|credential|authorization|bearer|ssn|social|phone|tel|mobile|fax|cell/i
/** Whether a name hints at the content of its member. */
export const isLabel = (name: string): boolean => name.length <= 64 && labelWords.test(name)

/** Steps between two pauses: far less than a millisecond. */
const STEPS = 256

/**
 * `hasOwn`: the operator has patterns of their own, which may match any name and any number. Yields
 * where it may pause.
 */
export function* textsOf(target: Members, hasOwn: boolean, root: Shape = requestShape): Steps<Texts> {
  const texts: Array<Text> = []
  const holders: Array<Holder> = []
  const stack: Array<Frame> = []

  const enter = (
    value: object,
    parent: Holder | null,
    key: Key,
    shape: Shape | undefined,
    json: Frame["json"],
    numbers: Frame["numbers"],
    label: string
  ): void => {
    const holder: Holder = { parent, key, value, values: null, names: null }
    holders.push(holder)
    const names = Array.isArray(value) ? null : Object.keys(value)
    const size = Array.isArray(value) ? value.length : (names ?? []).length
    stack.push({ holder, names, size, shape, json, numbers, label, at: 0 })
  }

  const add = (
    text: string,
    is: Text["is"],
    frame: Frame,
    key: Key,
    shape: Shape | undefined,
    bytesFrom: number | null = null
  ): void => {
    const named = typeof key === "number" ? frame.label : key
    texts.push({
      text,
      holder: frame.holder,
      key,
      is,
      json: is === "text" ? (shape?.json ?? frame.json) : "no",
      bytesFrom,
      label: is !== "name" && isLabel(named) ? named : null
    })
  }

  enter(target, null, "", root, "no", null, "")
  let steps = 0
  for (let frame = stack.at(-1); frame !== undefined; frame = stack.at(-1)) {
    const { holder, json, label, names } = frame
    if (frame.at === frame.size) {
      stack.pop()
      continue
    }
    if (++steps % STEPS === 0) yield
    const key = names?.[frame.at] ?? frame.at
    frame.at++
    const value: unknown = Reflect.get(holder.value, key)
    const shape = typeof key === "number" ? frame.shape?.items : frame.shape?.members.get(key)
    const keeps = shape?.keeps
    const isToken = frame.numbers === "weights" && typeof key === "string" && token.test(key)
    const isUnknown = typeof key === "string" && shape === undefined && !isToken
    if (isUnknown && (hasOwn || !plainName.test(key))) add(key, "name", frame, key, shape)
    if (keeps === "any") continue
    if (typeof value === "string") {
      if ((keeps === "word" && isWord(value)) || (keeps === "id" && isId(value))) continue
      if (keeps === "signed" && isSigned(holder.value)) continue
      const isToolName = shape?.isToolName === true || (key === "name" && isToolMessage(frame))
      add(value, isToolName ? "tool name" : "text", frame, key, shape, keeps === "bytes" ? bytesFrom(value) : null)
    } else if (typeof value === "number" || typeof value === "bigint" || isRawNumber(value)) {
      if (keeps === "number" || isToken) continue
      if (frame.numbers === "bounds" && typeof key === "string" && isBound(key)) continue
      if (isRawNumber(value)) add(value.rawJSON, "number", frame, key, shape)
      else if (hasOwn || value >= SHORTEST_NUMBER || value <= -SHORTEST_NUMBER)
        add(String(value), "number", frame, key, shape)
    } else if (Predicate.isObjectOrArray(value)) {
      enter(
        value,
        holder,
        key,
        shape,
        (isMessage(holder) && isTool(value)) || shape?.json === "maybe" ? "maybe" : json,
        keeps === "bounds" || keeps === "weights" ? keeps : frame.numbers,
        typeof key === "number" ? label : key
      )
    }
  }
  return { texts, holders }
}

const isSigned = (block: object): boolean =>
  "signature" in block && typeof block.signature === "string" && block.signature !== ""

/** Whether a list is the request's `messages`. */
const isMessage = (list: Holder): boolean => list.key === "messages" && list.parent?.parent === null
const isTool = (message: object): boolean =>
  "role" in message && (message.role === "tool" || message.role === "function")
const isToolMessage = ({ holder }: Frame): boolean =>
  holder.parent !== null && isMessage(holder.parent) && isTool(holder.value)

/**
 * Place of a text: the index of its message and the path from there, or the path from the request
 * when `message` is null.
 */
export interface Place {
  readonly message: number | null
  readonly path: string
}

/** Masked member names appear masked. */
export const placeOf = ({ holder, key }: Text): Place => {
  let path = ""
  let message: number | null = null
  let at: Holder | null = holder
  for (let name: Key = key; at !== null; name = at.key, at = at.parent) {
    if (typeof name === "number" && isMessage(at)) {
      message = name
      break
    }
    const own: string = typeof name === "number" ? `[${name}]` : (at.names?.get(name) ?? name)
    path = path === "" || path.startsWith("[") ? `${own}${path}` : `${own}.${path}`
  }
  return { message, path }
}

/** The target with all replacements applied. Yields where it may pause. */
export function* rebuilt<A extends Members>(target: A, holders: ReadonlyArray<Holder>): Steps<A> {
  // Children precede their parents.
  for (let at = holders.length - 1; at > 0; at--) {
    if (at % STEPS === 0) yield
    const holder = holders[at]
    if (holder === undefined || holder.parent === null || (holder.values ?? holder.names) === null) continue
    const { key, parent, value, values } = holder
    const changed = Array.isArray(value)
      ? value.map((item: unknown, index) => (values?.has(index) === true ? values.get(index) : item))
      : Object.fromEntries(Object.entries(value).map(([name, member]) => changedMember(holder, name, member)))
    ;(parent.values ??= new Map()).set(key, changed)
  }
  const [root] = holders
  if (root === undefined) return target
  const changed = Object.entries(target).map(([name, member]) => changedMember(root, name, member))
  const value: A = { ...target, ...Object.fromEntries(changed) }
  for (const name of root.names?.keys() ?? []) Reflect.deleteProperty(value, name)
  return value
}

const changedMember = ({ names, values }: Holder, name: string, member: unknown): readonly [string, unknown] => [
  names?.get(name) ?? name,
  values?.has(name) === true ? values.get(name) : member
]
