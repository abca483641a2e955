/**
 * Restores the values in a streamed reply. A placeholder may be split between chunks, so the end of
 * a text that could begin one is held back until it is complete: some tens of characters at most.
 * Held text is sent before a piece of another kind, such as a call after a text, because clients of
 * some APIs read another kind as the end of a block. It is also sent with the choice's finish
 * reason, and before a failure or the usage.
 */
import { Predicate } from "effect"
import { type Batches } from "../../../domain/runtime/Batches.ts"
import { type ChoiceDelta, type Delta, type ToolCallDelta } from "../../../domain/Chat.ts"
import { type CompletionEvent } from "../../request/Answer.ts"
import { exceptReasoning } from "../KeptReasoning.ts"
import { NativeBuffers, restoredNative } from "./RestoredNative.ts"
import { restoreCall, restoreCalled, type Restorer, restoreMembers } from "./Restoring.ts"
import { TextBuffer } from "./TextBuffer.ts"

const texts = ["content", "reasoning", "reasoning_content", "refusal"] as const
type TextMember = (typeof texts)[number]
type Members = Readonly<Record<string, unknown>>

/** The members of a reasoning detail that arrive in pieces. */
const detailTexts = ["text", "summary"] as const

/**
 * What a client reads as one text: the answer, the reasoning, or the input of one call. Arguments
 * are JSON, which does not end with the start of a placeholder.
 */
type Kind = "reasoning" | "text" | `input ${number}`

const kindOf = (member: TextMember): Kind => (member === "content" || member === "refusal" ? "text" : "reasoning")

/** The kinds that a delta begins or goes on with. A call without an input ends the others too. */
const kindsIn = (delta: Delta): ReadonlySet<Kind> => {
  const kinds = new Set<Kind>()
  for (const member of texts) if (delta[member]) kinds.add(kindOf(member))
  if (Array.isArray(delta["reasoning_details"]) && delta["reasoning_details"].length > 0) kinds.add("reasoning")
  for (const { index } of delta.tool_calls ?? []) kinds.add(`input ${index}`)
  if (Predicate.isObject(delta["function_call"])) kinds.add(`input ${ONLY}`)
  return kinds
}

/** The index of `function_call`, the single call of the older convention. */
const ONLY = -1

class ChoiceBuffer {
  readonly #restorer: Restorer
  readonly #texts = new Map<TextMember, TextBuffer>()
  readonly #calls = new Map<number, TextBuffer>()
  /** Inputs of custom tools, by the index of the call. */
  readonly #inputs = new Map<number, TextBuffer>()
  /** Texts of reasoning details, by the rest of the detail that a piece of them needs. */
  readonly #details = new Map<string, { readonly piece: (text: string) => Members; readonly held: TextBuffer }>()

  constructor(restorer: Restorer) {
    this.#restorer = restorer
  }

  add(choice: ChoiceDelta): ChoiceDelta {
    const isLast = choice.finish_reason !== null
    const {
      content,
      function_call: called,
      reasoning,
      reasoning_content,
      reasoning_details: details,
      refusal,
      tool_calls: calls,
      ...rest
    } = choice.delta
    const sent = { content, reasoning, reasoning_content, refusal }
    const delta: Record<string, unknown> = { ...restoreMembers(rest, this.#restorer.text) }
    if (called !== undefined) delta["function_call"] = Predicate.isObject(called) ? this.#called(called, ONLY) : called
    for (const member of texts) {
      const piece = sent[member]
      if (typeof piece === "string") delta[member] = this.#text(member).push(piece)
      else if (piece !== undefined) delta[member] = piece
    }
    if (details !== undefined)
      delta["reasoning_details"] = Array.isArray(details) ? details.map((detail) => this.#detail(detail)) : details
    const pieces = calls?.map((call) => this.#call(call)) ?? []
    if (isLast) this.#end(delta, pieces)
    return { ...choice, delta: { ...delta, ...(pieces.length > 0 ? { tool_calls: pieces } : {}) } }
  }

  /** The held text of the kinds that `next` ends, as a delta; null: there is none. */
  flushBefore(next: Delta, index: number): ChoiceDelta | null {
    if (!this.#isHolding()) return null
    const goingOn = kindsIn(next)
    if (goingOn.size === 0) return null
    const delta: Record<string, unknown> = {}
    const pieces: Array<ToolCallDelta> = []
    this.#flushTexts(delta, pieces, goingOn)
    return choiceOf(index, delta, pieces)
  }

  /** Whether text of a kind that another kind ends is held. */
  #isHolding(): boolean {
    for (const held of this.#texts.values()) if (held.isHolding) return true
    for (const { held } of this.#details.values()) if (held.isHolding) return true
    for (const held of this.#inputs.values()) if (held.isHolding) return true
    return false
  }

  /** The text that is still held, as a delta; null: there is none. */
  flush(index: number): ChoiceDelta | null {
    const delta: Record<string, unknown> = {}
    const pieces: Array<ToolCallDelta> = []
    this.#end(delta, pieces)
    return choiceOf(index, delta, pieces)
  }

  /** `goingOn`: the kinds that are held on. */
  #flushTexts(delta: Record<string, unknown>, pieces: Array<ToolCallDelta>, goingOn: ReadonlySet<Kind>): void {
    for (const [member, held] of this.#texts) {
      if (!held.isHolding || goingOn.has(kindOf(member))) continue
      const before = delta[member]
      delta[member] = `${typeof before === "string" ? before : ""}${held.flush()}`
    }
    const details: Array<unknown> = []
    for (const { held, piece } of this.#details.values()) {
      if (held.isHolding && !goingOn.has("reasoning")) details.push(piece(held.flush()))
    }
    if (details.length > 0) {
      const before = delta["reasoning_details"]
      delta["reasoning_details"] = Array.isArray(before) ? [...before, ...details] : details
    }
    for (const [index, held] of this.#inputs) {
      if (held.isHolding && !goingOn.has(`input ${index}`)) pieces.push({ index, custom: { input: held.flush() } })
    }
  }

  #end(delta: Record<string, unknown>, pieces: Array<ToolCallDelta>): void {
    this.#flushTexts(delta, pieces, none)
    for (const [index, held] of this.#calls) {
      const text = held.flush()
      if (text === "") continue
      if (index !== ONLY) pieces.push({ index, function: { arguments: text } })
      else {
        const called: unknown = delta["function_call"]
        const before: unknown = Predicate.isObject(called) ? called["arguments"] : undefined
        const given = `${typeof before === "string" ? before : ""}${text}`
        delta["function_call"] = { ...(Predicate.isObject(called) ? called : {}), arguments: given }
      }
    }
  }

  #text(member: TextMember): TextBuffer {
    let held = this.#texts.get(member)
    if (held === undefined) this.#texts.set(member, (held = new TextBuffer(this.#restorer, this.#restorer.text)))
    return held
  }

  /** Restores a piece of a call: its name arrives whole, its arguments in pieces. */
  #called<A extends Members>(called: A, index: number): A {
    const { arguments: given, ...rest } = called
    if (typeof given !== "string") return { ...called, ...restoreCalled(called, this.#restorer) }
    let held = this.#calls.get(index)
    if (held === undefined) this.#calls.set(index, (held = new TextBuffer(this.#restorer, this.#restorer.json)))
    return { ...called, ...restoreCalled(rest, this.#restorer), arguments: held.push(given) }
  }

  #call(call: ToolCallDelta): ToolCallDelta {
    const { custom, function: called, ...rest } = call
    return {
      ...call,
      ...restoreCall(rest, this.#restorer),
      ...(Predicate.isObject(called) ? { function: this.#called(called, call.index) } : {}),
      ...(Predicate.isObject(custom) ? { custom: this.#custom(custom, call.index) } : {})
    }
  }

  #custom<A extends Members>(custom: A, index: number): A {
    const { input, ...rest } = custom
    const restored = { ...custom, ...restoreCalled(rest, this.#restorer) }
    if (typeof input !== "string") return restored
    let held = this.#inputs.get(index)
    if (held === undefined) this.#inputs.set(index, (held = new TextBuffer(this.#restorer, this.#restorer.text)))
    return { ...restored, input: held.push(input) }
  }

  /** Pieces with one `index` are one detail. */
  #detail(detail: unknown): unknown {
    if (!Predicate.isObject(detail)) return detail
    const restored: Record<string, unknown> = { ...restoreMembers(detail, this.#restorer.text) }
    const { index, type } = detail as Members
    for (const member of detailTexts) {
      const text = (detail as Members)[member]
      if (typeof text !== "string" || typeof index !== "number") continue
      const name = `${member} ${index}`
      let buffer = this.#details.get(name)
      if (buffer === undefined) {
        const held = new TextBuffer(this.#restorer, this.#restorer.text)
        buffer = { piece: (rest) => ({ type, [member]: rest, index }), held }
        this.#details.set(name, buffer)
      }
      restored[member] = buffer.held.push(text)
    }
    return restored
  }
}

const none: ReadonlySet<Kind> = new Set()

const choiceOf = (index: number, delta: Delta, calls: ReadonlyArray<ToolCallDelta>): ChoiceDelta | null => {
  const whole: Delta = calls.length > 0 ? { ...delta, tool_calls: calls } : delta
  return Object.keys(whole).length === 0 ? null : { index, delta: whole, finish_reason: null }
}

export const restoredStream = (
  events: Batches<CompletionEvent>,
  restorer: Restorer,
  keepsReasoning = false
): Batches<CompletionEvent> => {
  const choices = new Map<number, ChoiceBuffer>()
  let native: NativeBuffers | null = null

  const bufferOf = (index: number): ChoiceBuffer => {
    let choice = choices.get(index)
    if (choice === undefined) choices.set(index, (choice = new ChoiceBuffer(restorer)))
    return choice
  }

  const restoredChoice = (choice: ChoiceDelta): ReadonlyArray<ChoiceDelta> => {
    const buffer = bufferOf(choice.index)
    const before = buffer.flushBefore(choice.delta, choice.index)
    const next = keepsReasoning
      ? { ...choice, delta: exceptReasoning(choice.delta, (delta) => buffer.add({ ...choice, delta }).delta) }
      : buffer.add(choice)
    return before === null ? [next] : [before, next]
  }

  /** Another provider goes on in the form of chat, which holds the same text back. */
  const withoutNative = (): undefined => {
    native?.discard()
    native = null
  }

  const restored = (event: CompletionEvent): ReadonlyArray<CompletionEvent> => {
    if (event._tag === "Choices") {
      const choices = event.choices.flatMap(restoredChoice)
      const { extra } = event
      const own =
        event.native === undefined ? withoutNative() : (native ??= new NativeBuffers(restorer)).push(event.native)
      return [
        {
          ...event,
          choices,
          ...(extra === undefined ? {} : { extra: restoreMembers(extra, restorer.text) }),
          ...(own === undefined ? {} : { native: own })
        }
      ]
    }
    const held = Array.from(choices, ([index, choice]) => choice.flush(index)).filter((choice) => choice !== null)
    choices.clear()
    const last =
      event._tag === "Usage" && event.native !== undefined
        ? { ...event, native: event.native.map((each) => restoredNative(each, restorer)) }
        : event
    const own = native?.flush() ?? []
    if (held.length === 0 && own.length === 0) return [last]
    return [{ _tag: "Choices", choices: held, ...(native === null ? {} : { native: own }) }, last]
  }

  return events.map((chunk) => {
    const out: Array<CompletionEvent> = []
    for (const event of chunk) out.push(...restored(event))
    const [first, ...rest] = out
    // Each event yields at least one, so there is a first.
    return first === undefined ? chunk : [first, ...rest]
  })
}
