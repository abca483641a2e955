/**
 * Normalises tool calls of the OpenAI dialect in place: each gets an id and arguments as text, and
 * in a stream an index that separates parallel calls. A new id with a name begins a new call, even
 * at the index of another. A new id alone does not, because some vendors generate one for every
 * piece.
 */
import { isJsonRecord, stringOf, type JsonRecord } from "../wire/Json.ts"
import { type CallIds } from "../wire/CallIds.ts"

/** A call that has begun. */
interface OpenCall {
  /** The vendor's index, or null. */
  readonly at: number | null
  /** The vendor's id, or null. */
  readonly sentId: string | null
  readonly id: string
  readonly index: number
}

/** Largest number of calls in an answer. A greater index is ignored. */
const MOST_CALLS = 1_024

/** Some vendors send arguments as an object: they become text. */
export const withArguments = (call: JsonRecord): JsonRecord => {
  const called = call["function"]
  if (isJsonRecord(called) && typeof called["arguments"] === "object" && called["arguments"] !== null) {
    called["arguments"] = JSON.stringify(called["arguments"])
  }
  return call
}

export class OpenAiCalls {
  readonly #ids: CallIds
  readonly #calls: Array<OpenCall> = []

  constructor(ids: CallIds) {
    this.#ids = ids
  }

  get isEmpty(): boolean {
    return this.#calls.length === 0
  }

  /** Sets the index and the id of a piece of a call. */
  number(piece: JsonRecord, responseId: unknown): JsonRecord {
    const at = placeOf(piece["index"])
    const sentId = stringOf(piece["id"]) || null
    const known = this.#find(at, sentId, isNamed(piece))
    const call = known ?? this.#begin(at, sentId, responseId)
    piece["index"] = call.index
    // The id comes once, or is the same each time.
    if (known === undefined || sentId !== null) piece["id"] = call.id
    return withArguments(piece)
  }

  #find(at: number | null, sentId: string | null, isNamed: boolean): OpenCall | undefined {
    const same = this.#calls.findLast(
      (call) => sentId !== null && call.sentId === sentId && (at === null || call.at === at)
    )
    if (same !== undefined) return same
    if (at === null) return sentId !== null || isNamed ? undefined : this.#calls.at(-1)
    const there = this.#calls.findLast((call) => call.at === at)
    const isAnother = sentId !== null && isNamed && there?.sentId !== null
    return isAnother ? undefined : there
  }

  #begin(at: number | null, sentId: string | null, responseId: unknown): OpenCall {
    const isFree = at !== null && this.#calls.every(({ index }) => index !== at)
    const index = isFree ? at : this.#calls.reduce((next, call) => Math.max(next, call.index + 1), 0)
    const call = { at, sentId, id: this.#ids(sentId, responseId, index), index }
    this.#calls.push(call)
    return call
  }
}

const placeOf = (index: unknown): number | null =>
  typeof index === "number" && Number.isInteger(index) && index >= 0 && index < MOST_CALLS ? index : null

const isNamed = ({ function: called }: JsonRecord): boolean => isJsonRecord(called) && Boolean(stringOf(called["name"]))
