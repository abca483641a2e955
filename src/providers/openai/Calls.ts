/**
 * The tool calls of the OpenAI dialect, put right in place: an id for each, arguments as text, and in a stream a number that tells
 * parallel calls apart. A new id with a name begins a new call, even at a number that another one has; a new id alone does not,
 * because some vendors make one up for every piece.
 */
import { isJsonRecord, stringOf, type JsonRecord } from "../wire/Json.ts"
import { type CallIds } from "../wire/CallIds.ts"

/** A call under way. */
interface OpenCall {
  /** As the vendor numbers it; null where it does not. */
  readonly at: number | null
  /** As the vendor names it; null where it does not. */
  readonly sentId: string | null
  readonly id: string
  readonly index: number
}

/** As many calls an answer may number; a number beyond them is none. */
const MOST_CALLS = 1_024

/** Some vendors send arguments as the object that they are. */
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

  /** A piece of a call, numbered. */
  number(piece: JsonRecord, responseId: unknown): JsonRecord {
    const at = placeOf(piece["index"])
    const sentId = stringOf(piece["id"]) || null
    const known = this.#find(at, sentId, isNamed(piece))
    const call = known ?? this.#begin(at, sentId, responseId)
    piece["index"] = call.index
    // A call is named once, or with the same name each time.
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
