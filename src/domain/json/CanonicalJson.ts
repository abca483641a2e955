/**
 * A canonical text of a JSON value: the same for every order of members, and different for all
 * other differences. Members without a value are left out. It is JSON, except for long strings:
 * their length, a quote and their characters, which are not escaped, so that they are hashed
 * without a copy. It is generated in pieces, so that a large value is not written or hashed in one
 * go.
 */
import { Effect } from "effect"
import { isRawNumber } from "./Json.ts"
import { type Turns } from "../runtime/Turns.ts"

/** Approximate length of a piece, a fraction of a millisecond's work. Longer strings are split. */
export const PIECE_CHARACTERS = 65_536

/** Values of about this length or less are written at once. */
const SHORT_CHARACTERS = 4_096

/** Strings of at least this length are pieces of their own. */
export const LONG_CHARACTERS = 512

/**
 * Each entry and member counts as this many additional characters, because empty ones cost time
 * too.
 */
const PART_CHARACTERS = 8

/** More names than this are sorted by the language, which allocates two kilobytes for each sort. */
const FEW_NAMES = 32

/** Names in order. A list that is in order already is not sorted. */
const sorted = (names: Array<string>): ReadonlyArray<string> => {
  for (let at = 1; at < names.length; at++) {
    const name = names[at] ?? ""
    if ((names[at - 1] ?? "") < name) continue
    if (names.length > FEW_NAMES) return names.sort()
    let to = at
    for (; to > 0 && (names[to - 1] ?? "") > name; to--) names[to] = names[to - 1] ?? ""
    names[to] = name
  }
  return names
}

/** An open list or object. `names`: null in a list. */
interface Level {
  readonly value: object
  readonly names: ReadonlyArray<string> | null
  readonly length: number
  at: number
  separator: "" | ","
}

const levelOf = (value: object): Level => {
  const names = Array.isArray(value) ? null : sorted(Object.keys(value))
  return { value, names, length: Array.isArray(value) ? value.length : (names?.length ?? 0), at: 0, separator: "" }
}

const isHighSurrogate = (code: number): boolean => (code & 0xfc00) === 0xd800

class CanonicalPieces implements Iterator<string, string> {
  readonly #levels: Array<Level> = []
  #text = ""
  #parts = 0
  /** The long string that is being written, how far, and whether it is escaped. */
  #long = ""
  #from = 0
  #isEscaped = false

  constructor(value: unknown) {
    this.#write(value)
  }

  next(): IteratorResult<string, string> {
    for (;;) {
      if (this.#long !== "") return { done: false, value: this.#text === "" ? this.#nextOfLong() : this.#take() }
      const level = this.#levels.at(-1)
      if (level === undefined) return { done: true, value: this.#take() }
      if (level.at < level.length) this.#step(level, level.at++)
      else {
        this.#text += level.names === null ? "]" : "}"
        this.#levels.pop()
      }
      if (this.#text.length + this.#parts * PART_CHARACTERS >= PIECE_CHARACTERS)
        return { done: false, value: this.#take() }
    }
  }

  /** Writes one entry or member, up to its own entries and members. */
  #step(level: Level, at: number): void {
    this.#parts++
    const name = level.names === null ? null : (level.names[at] ?? "")
    const value: unknown = Reflect.get(level.value, name ?? at)
    if (name !== null && (value === undefined || value === null)) return
    this.#text += name === null ? level.separator : `${level.separator}${JSON.stringify(name)}:`
    level.separator = ","
    this.#write(value)
  }

  #write(value: unknown): void {
    if (typeof value === "string") this.#writeString(value)
    else if (typeof value !== "object" || value === null) this.#text += JSON.stringify(value) ?? "null"
    else if (isRawNumber(value)) this.#text += value.rawJSON
    else {
      this.#levels.push(levelOf(value))
      this.#text += Array.isArray(value) ? "[" : "{"
    }
  }

  #writeString(value: string): void {
    if (value.length < LONG_CHARACTERS) {
      this.#text += JSON.stringify(value)
      return
    }
    // A hash reads UTF-8, in which all lone surrogates are the same.
    this.#isEscaped = !value.isWellFormed()
    this.#text += this.#isEscaped ? '"' : `${value.length}"`
    this.#long = value
    this.#from = 0
  }

  #nextOfLong(): string {
    const [value, from] = [this.#long, this.#from]
    let to = Math.min(from + PIECE_CHARACTERS, value.length)
    if (to < value.length && isHighSurrogate(value.charCodeAt(to - 1))) to--
    const slice = to - from === value.length ? value : value.slice(from, to)
    this.#from = to
    if (to === value.length) {
      this.#long = ""
      if (this.#isEscaped) this.#text = '"'
    }
    return this.#isEscaped ? JSON.stringify(slice).slice(1, -1) : slice
  }

  /** Returns the text and begins the next piece. */
  #take(): string {
    const text = this.#text
    this.#text = ""
    this.#parts = 0
    return text
  }
}

const whole = (text: string): Iterator<string, string> => ({ next: () => ({ done: true, value: text }) })

/** Yields all pieces except the last, which it returns. */
export const canonicalPieces = (value: unknown): Iterator<string, string> => {
  const short = inOrder(value, { left: SHORT_CHARACTERS })
  return short === undefined ? new CanonicalPieces(value) : whole(JSON.stringify(short))
}

/**
 * A copy with its names in order, which `JSON.stringify` writes as the pieces do, in a third of the
 * time. Undefined if the value has a long string or more than `room`.
 */
const inOrder = (value: unknown, room: { left: number }): unknown => {
  if (typeof value === "string") {
    room.left -= value.length
    return room.left < 0 || value.length >= LONG_CHARACTERS ? undefined : value
  }
  room.left -= PART_CHARACTERS
  if (room.left < 0) return undefined
  if (typeof value !== "object" || value === null || isRawNumber(value)) return value
  if (Array.isArray(value)) {
    const entries: Array<unknown> = []
    for (const entry of value) {
      const copy = inOrder(entry, room)
      if (copy === undefined) return undefined
      entries.push(copy)
    }
    return entries
  }
  const members: Record<string, unknown> = {}
  for (const name of sorted(Object.keys(value))) {
    const member: unknown = Reflect.get(value, name)
    if (member === null || member === undefined) continue
    const copy = inOrder(member, room)
    // An object puts numbers before other names, and takes another prototype from one of them.
    if (copy === undefined || !isOrdinary.test(name)) return undefined
    members[name] = copy
  }
  return members
}

/** A name that stays where it is put. */
const isOrdinary = /^[a-z]/i

interface Hash {
  readonly update: (text: string) => unknown
}

/**
 * Feeds pieces to a hash: those of a short value as this is called, more of them in turns. Run its
 * effect once.
 */
export const feed = (pieces: Iterator<string, string>, hash: Hash, turns: Turns): Effect.Effect<void> => {
  turns.begin()
  return fedInTurn(pieces, hash, turns) ? Effect.void : feedInTurns(pieces, hash, turns)
}

const feedInTurns = Effect.fnUntraced(function* (pieces: Iterator<string, string>, hash: Hash, turns: Turns) {
  do yield* turns.next
  while (!fedInTurn(pieces, hash, turns))
})

/** Returns whether all pieces are fed. */
const fedInTurn = (pieces: Iterator<string, string>, hash: Hash, turns: Turns): boolean => {
  for (;;) {
    const { done, value } = pieces.next()
    if (value !== "") hash.update(value)
    if (done === true) return true
    if (turns.isOver()) return false
  }
}
