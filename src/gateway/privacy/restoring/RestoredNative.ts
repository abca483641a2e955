/**
 * Restores the values in answers in the form of the client's own API, whole and streamed. Thoughts,
 * signatures and encrypted parts are left as the provider sent them, because the client sends them
 * back. A streamed text has a buffer of its own in each block or item, which is emptied before the
 * block ends.
 */
import { Predicate } from "effect"
import { opaque, type Restorer } from "./Restoring.ts"
import { TextBuffer } from "./TextBuffer.ts"

type Members = Readonly<Record<string, unknown>>

/** Kinds of blocks, items, events and pieces that hold thoughts or their signatures. */
const isThought = (type: unknown): boolean => typeof type === "string" && /thinking|reasoning|signature/.test(type)
/** Members whose text is JSON. */
const jsonMembers = new Set(["partial_json", "arguments"])

/** A body, or an event that brings whole parts. */
export const restoredNative = (members: Members, restorer: Restorer): Members =>
  isThought(members["type"])
    ? members
    : Object.fromEntries(
        Object.entries(members).map(([name, value]) => [
          restorer.text(name),
          opaque.has(name) || name === "type" ? value : restoredValue(name, value, members, restorer)
        ])
      )

const restoredValue = (name: string, value: unknown, holder: Members, restorer: Restorer): unknown => {
  if (typeof value === "string") {
    if (name === "name" && isCall(holder["type"])) return restorer.toolName(value)
    return jsonMembers.has(name) ? restorer.json(value) : restorer.text(value)
  }
  if (Array.isArray(value)) return value.map((each: unknown) => restoredValue(name, each, holder, restorer))
  return Predicate.isObject(value) ? restoredNative(value, restorer) : value
}

const isCall = (type: unknown): boolean => typeof type === "string" && /tool_use$|_call$/.test(type)

/** A text that is held back, and the event that its rest is sent in. */
interface Held {
  readonly buffer: TextBuffer
  /** The block or item. */
  readonly place: unknown
  readonly event: (rest: string) => Members
}

/** Most texts that are held at once. Providers have one or two open. */
const MOST_HELD = 64

export class NativeBuffers {
  readonly #restorer: Restorer
  readonly #held = new Map<string, Held>()

  constructor(restorer: Restorer) {
    this.#restorer = restorer
  }

  push(events: ReadonlyArray<Members>): ReadonlyArray<Members> {
    return events.flatMap((event) => this.#restored(event))
  }

  /** The texts that are still held, as events. `place`: those of one block or item. */
  flush(place?: unknown): ReadonlyArray<Members> {
    const out: Array<Members> = []
    for (const [name, held] of this.#held) {
      if (place !== undefined && held.place !== place) continue
      this.#held.delete(name)
      const rest = held.buffer.flush()
      if (rest !== "") out.push(held.event(rest))
    }
    return out
  }

  /** Forgets what is held: the client gets it in another form. */
  discard(): void {
    this.#held.clear()
  }

  #restored(event: Members): ReadonlyArray<Members> {
    const { delta, type } = event
    const place = event["index"] ?? event["output_index"]
    if (place === undefined || delta === undefined) {
      return [...this.flush(place), restoredNative(event, this.#restorer)]
    }
    if (isThought(type) || (Predicate.isObject(delta) && isThought((delta as Members)["type"]))) return [event]
    if (typeof delta === "string") {
      const isJson = typeof type === "string" && type.includes("arguments")
      const text = this.#push(event, place, String(type), isJson, delta, (rest) => ({ ...event, delta: rest }))
      return text === "" ? [] : [{ ...event, delta: text }]
    }
    if (!Predicate.isObject(delta)) return [restoredNative(event, this.#restorer)]
    const restored: Record<string, unknown> = {}
    let isEmpty = true
    for (const [name, value] of Object.entries(delta)) {
      if (typeof value !== "string" || name === "type" || opaque.has(name)) {
        restored[name] = restoredValue(name, value, delta, this.#restorer)
        isEmpty &&= name === "type"
        continue
      }
      const kind = (delta as Members)["type"]
      const piece = (rest: string) => ({ ...event, delta: { type: kind, [name]: rest } })
      restored[name] = this.#push(event, place, `${String(kind)} ${name}`, jsonMembers.has(name), value, piece)
      isEmpty &&= restored[name] === "" && value !== ""
    }
    return isEmpty ? [] : [{ ...event, delta: restored }]
  }

  #push(
    { content_index, item_id, summary_index }: Members,
    place: unknown,
    kind: string,
    isJson: boolean,
    text: string,
    event: (rest: string) => Members
  ): string {
    const name = JSON.stringify([place, item_id, content_index, summary_index, kind])
    let held = this.#held.get(name)
    if (held === undefined) {
      if (this.#held.size >= MOST_HELD) return isJson ? this.#restorer.json(text) : this.#restorer.text(text)
      const buffer = new TextBuffer(this.#restorer, isJson ? this.#restorer.json : this.#restorer.text)
      held = { buffer, place, event }
      this.#held.set(name, held)
    }
    return held.buffer.push(text)
  }
}
