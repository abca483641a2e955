/**
 * One item of a streamed output: a message, reasoning or a call. It counts the characters of each
 * part that have been passed on, so that a part which arrives whole adds only what its deltas left
 * out.
 */
import { type ChoiceDelta, type Delta } from "../../domain/Chat.ts"
import { Malformed } from "../Provider.ts"
import { stringOf, type JsonRecord, jsonRecordsOf } from "../wire/Json.ts"
import { detailOf, encryptedOf, SEPARATOR } from "./Reasoning.ts"
import { annotationOf, type Asked, callOf, inputOf, isCall, logprobsOf } from "./Reply.ts"

/** The answer that the items are parts of. */
export interface Answer extends Asked {
  readonly responseId: unknown
  /** Number of calls and of details so far. */
  calls: number
  details: number
  /** Text of this kind has been passed on, so a separator comes before the next one. */
  readonly has: { content: boolean; reasoning: boolean }
  phase: string | null
  emit(delta: Delta, rest?: Partial<ChoiceDelta>): void
}

export type TextMember = "content" | "refusal" | "summary" | "text"

interface Part {
  /** Characters passed on. */
  sent: number
  /** The index of its detail, for a text of reasoning. */
  readonly detail: number
}

/** Largest number of parts in an item. */
const MOST_PARTS = 1_024

export class OutputItem {
  isDone = false
  readonly #answer: Answer
  readonly #parts = new Map<string, Part>()
  #id: string | null
  #call: { readonly index: number; readonly isCustom: boolean; sent: number } | null = null
  #hasContent = false
  #annotations = 0

  constructor(answer: Answer, id: string | null) {
    this.#answer = answer
    this.#id = id
  }

  /** The item as it is announced. A call begins once its name is known. */
  begin(item: JsonRecord): null {
    this.#id ??= stringOf(item["id"])
    this.#answer.phase = stringOf(item["phase"]) ?? this.#answer.phase
    if (!isCall(item) || this.#call !== null) return null
    const index = this.#answer.calls++
    const id = this.#answer.ids(item["call_id"], this.#answer.responseId, index)
    this.#call = { index, isCustom: item["type"] === "custom_tool_call", sent: 0 }
    this.#answer.emit({ tool_calls: [{ index, ...callOf(item, id, "") }] })
    return null
  }

  /** A piece of the text of part `at`, or all of it. */
  text(member: TextMember, at: unknown, text: string, isWhole: boolean, logprobs?: unknown): Malformed | null {
    const name = `${member} ${typeof at === "number" ? at : 0}`
    const known = this.#parts.get(name)
    const piece = isWhole ? text.slice(known?.sent ?? 0) : text
    if (piece === "") return null
    if (known === undefined && this.#parts.size >= MOST_PARTS) {
      return new Malformed({ detail: "an item of too many parts" })
    }
    const part = known ?? { sent: 0, detail: member === "content" || member === "refusal" ? 0 : this.#answer.details++ }
    if (member === "refusal") this.#answer.emit({ refusal: piece })
    else if (member === "content") this.#addContent(piece, logprobs)
    else this.#addThought(member, piece, part)
    part.sent += piece.length
    this.#parts.set(name, part)
    return null
  }

  #addContent(piece: string, logprobs: unknown): void {
    const { has } = this.#answer
    const isNext = has.content && !this.#hasContent
    has.content = true
    this.#hasContent = true
    const found = logprobsOf(logprobs)
    this.#answer.emit({ content: isNext ? SEPARATOR + piece : piece }, found === null ? {} : { logprobs: found })
  }

  /** Only the first piece of a detail has its id, format and provider. */
  #addThought(member: "summary" | "text", piece: string, { detail: index, sent }: Part): void {
    const { has, maker } = this.#answer
    const whole = detailOf(member === "summary" ? { summary: piece } : { text: piece }, maker, this.#id, index)
    const isNext = has.reasoning && sent === 0
    has.reasoning = true
    this.#answer.emit({
      reasoning: isNext ? SEPARATOR + piece : piece,
      reasoning_details: [sent === 0 ? whole : { type: whole["type"], [member]: piece, index }]
    })
  }

  /** A piece of a call's input, or all of it. An unnamed call waits for the whole item. */
  input(input: string, isWhole: boolean): void {
    const call = this.#call
    const piece = isWhole ? input.slice(call?.sent ?? 0) : input
    if (call === null || piece === "") return
    call.sent += piece.length
    const { index } = call
    this.#answer.emit({
      tool_calls: [call.isCustom ? { index, custom: { input: piece } } : { index, function: { arguments: piece } }]
    })
  }

  annotation(annotation: JsonRecord): void {
    this.#annotations++
    this.#answer.emit({ annotations: [annotationOf(annotation)] })
  }

  /** The whole item. */
  end(item: JsonRecord): Malformed | null {
    this.begin(item)
    this.isDone = true
    if (isCall(item)) this.input(inputOf(item), true)
    if (item["type"] === "message") return this.#endMessage(jsonRecordsOf(item["content"]))
    return item["type"] === "reasoning" ? this.#endReasoning(item) : null
  }

  #endMessage(parts: ReadonlyArray<JsonRecord>): Malformed | null {
    for (const [at, part] of parts.entries()) {
      const isRefusal = part["type"] === "refusal"
      const text = stringOf(part[isRefusal ? "refusal" : "text"]) ?? ""
      const fault = this.text(isRefusal ? "refusal" : "content", at, text, true, part["logprobs"])
      if (fault !== null) return fault
    }
    const annotations = parts.flatMap((part) => jsonRecordsOf(part["annotations"]))
    for (const annotation of annotations.slice(this.#annotations)) this.annotation(annotation)
    return null
  }

  #endReasoning(item: JsonRecord): Malformed | null {
    for (const member of ["summary", "content"] as const) {
      for (const [at, thought] of jsonRecordsOf(item[member]).entries()) {
        const text = stringOf(thought["text"]) ?? ""
        const fault = this.text(member === "summary" ? member : "text", at, text, true)
        if (fault !== null) return fault
      }
    }
    const data = encryptedOf(item)
    if (data === null) return null
    const detail = detailOf({ data }, this.#answer.maker, this.#id, this.#answer.details++)
    this.#answer.emit({ reasoning_details: [detail] })
    return null
  }
}
