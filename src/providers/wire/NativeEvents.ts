/**
 * Puts a vendor's own events beside those that a reader makes of them, for clients of the vendor's
 * API. The events that end the stream leave with its end, after the request was settled.
 */
import { type ChatEvent } from "../../domain/Chat.ts"
import { type JsonRecord } from "./Json.ts"

export interface NativeRules {
  /** Kinds of events that the gateway sends itself. */
  readonly isSkipped: (type: unknown) => boolean
  /** Kinds of events that end the stream. */
  readonly isLast: (type: unknown) => boolean
  /** The event with carriers in place of signatures. */
  readonly carry: (event: JsonRecord) => JsonRecord
}

/** Most events that end a stream. Vendors send one or two. */
const MOST_LAST = 8

export class NativeEvents {
  readonly #rules: NativeRules
  readonly #last: Array<JsonRecord> = []

  constructor(rules: NativeRules) {
    this.#rules = rules
  }

  /** `from`: where the events of this one begin in `out`. */
  attach(event: JsonRecord, out: Array<ChatEvent>, from: number): void {
    const { carry, isLast, isSkipped } = this.#rules
    const { type } = event
    this.#cover(out, from)
    if (isLast(type)) {
      if (this.#last.length < MOST_LAST) this.#last.push(carry(event))
      return
    }
    if (isSkipped(type)) return
    const native = [carry(event)]
    const at = out.length - 1
    const last = out[at]
    if (at >= from && last?._tag === "Choices") out[at] = { ...last, native }
    else out.push({ _tag: "Choices", choices: [], native })
  }

  /** The last events of the stream. */
  end(out: ReadonlyArray<ChatEvent>): ReadonlyArray<ChatEvent> {
    return out.map((event) =>
      event._tag === "End" ? { ...event, native: this.#last } : { ...event, native: event.native ?? [] }
    )
  }

  #cover(out: Array<ChatEvent>, from: number): void {
    for (let at = from; at < out.length; at++) {
      const event = out[at]
      if (event?._tag === "Choices") out[at] = { ...event, native: [] }
    }
  }
}
