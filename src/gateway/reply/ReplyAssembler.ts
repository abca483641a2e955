/**
 * Assembles a stream of events into a whole reply, so that one cache entry serves both modes. The
 * reverse is domain/Replay.ts. Assembly stops at a size limit, because a larger reply is not
 * stored.
 */
import {
  type ChatEvent,
  type ChatReply,
  type ChoiceDelta,
  type Members,
  type ReplyChoice,
  type ToolCallDelta
} from "../../domain/Chat.ts"
import { joinedMember } from "./DeltaMembers.ts"

const MAX_CHARACTERS = 1_048_576

/** The assumed size of one entry of log probabilities, in characters. */
const LOGPROB_CHARACTERS = 128

interface ToolCall {
  id?: string
  type: string
  name: string
  arguments: Array<string>
  /** A function call, or a call that does not state its type. */
  isFunction: boolean
  readonly rest: Map<string, unknown>
}

class ChoiceBuilder {
  readonly index: number
  readonly #text: { content: Array<string>; refusal: Array<string>; reasoning: Array<string> } = {
    content: [],
    refusal: [],
    reasoning: []
  }
  readonly #calls = new Map<number, ToolCall>()
  readonly #logprobs = new Map<string, Array<unknown> | null>()
  /** Members of the message and of the choice that the gateway does not interpret. */
  readonly #message = new Map<string, unknown>()
  readonly #choice = new Map<string, unknown>()
  #isRefusalTold = false
  #finishReason: string | null = null

  constructor(index: number) {
    this.index = index
  }

  /** Adds a delta and returns its approximate size in characters. */
  add(choice: ChoiceDelta): number {
    let size = 0
    const { delta } = choice
    for (const name in delta) {
      switch (name) {
        case "role":
          break
        case "content":
        case "refusal":
        case "reasoning":
          size += this.#addText(name, delta[name])
          break
        case "tool_calls":
          for (const piece of delta.tool_calls ?? []) size += this.#addCall(piece)
          break
        default:
          size += keep(this.#message, name, delta[name])
      }
    }
    for (const name in choice) {
      switch (name) {
        case "index":
        case "delta":
        // The message is assembled from the deltas.
        case "message":
          break
        case "finish_reason":
          this.#finishReason = choice.finish_reason ?? this.#finishReason
          break
        case "logprobs":
          size += this.#addLogprobs(choice["logprobs"])
          break
        default:
          this.#choice.set(name, choice[name] ?? this.#choice.get(name) ?? null)
      }
    }
    return size
  }

  #addText(member: "content" | "refusal" | "reasoning", text: unknown): number {
    if (member === "refusal") this.#isRefusalTold = true
    if (typeof text !== "string") return 0
    this.#text[member].push(text)
    return text.length
  }

  #addCall(piece: ToolCallDelta): number {
    let call = this.#calls.get(piece.index)
    if (call === undefined) {
      call = { type: "function", name: "", arguments: [], isFunction: false, rest: new Map() }
      this.#calls.set(piece.index, call)
    }
    let size = 0
    for (const [name, value] of Object.entries(piece)) {
      if (name === "id") call.id = piece.id || call.id || ""
      else if (name === "type") call.type = piece.type || call.type
      else if (name === "function") {
        call.isFunction = true
        if (piece.function?.name) call.name += piece.function.name
        if (piece.function?.arguments) call.arguments.push(piece.function.arguments)
        size += piece.function?.arguments?.length ?? 0
      } else if (name !== "index") size += keep(call.rest, name, value)
    }
    return size
  }

  #addLogprobs(logprobs: unknown): number {
    if (typeof logprobs !== "object" || logprobs === null) {
      this.#choice.set("logprobs", null)
      return 0
    }
    let size = 0
    for (const [member, values] of Object.entries(logprobs)) {
      const kept = this.#logprobs.get(member) ?? []
      if (Array.isArray(values)) for (const value of values) kept.push(value)
      this.#logprobs.set(member, kept.length > 0 || Array.isArray(values) ? kept : null)
      size += Array.isArray(values) ? values.length * LOGPROB_CHARACTERS : 0
    }
    return size
  }

  build(): ReplyChoice {
    const { content, reasoning, refusal } = this.#text
    const calls = Array.from(this.#calls).sort(([a], [b]) => a - b)
    const text = content.join("")
    const isSilent = calls.length > 0 || refusal.length > 0 || this.#finishReason === "content_filter"
    return {
      index: this.index,
      message: {
        role: "assistant",
        content: text === "" && isSilent ? null : text,
        ...(refusal.length > 0 ? { refusal: refusal.join("") } : this.#isRefusalTold ? { refusal: null } : {}),
        ...(reasoning.length > 0 ? { reasoning: reasoning.join("") } : {}),
        ...(calls.length > 0 ? { tool_calls: calls.map(([, call]) => callOf(call)) } : {}),
        ...Object.fromEntries(this.#message)
      },
      ...Object.fromEntries(this.#choice),
      ...(this.#logprobs.size > 0 ? { logprobs: Object.fromEntries(this.#logprobs) } : {}),
      finish_reason: this.#finishReason
    }
  }
}

/** Joins `value` to the value in `members`. Returns its approximate size in characters. */
const keep = (members: Map<string, unknown>, name: string, value: unknown): number => {
  if (value === null || value === undefined) return 0
  members.set(name, joinedMember(name, members.get(name), value))
  return sizeOf(value)
}

/** In characters, more or less. */
const sizeOf = (value: unknown): number => (typeof value === "string" ? value.length : JSON.stringify(value).length)

/** Members of a chunk that are no members of a whole reply, or are told at the end. */
const ofChunksAlone = new Set(["obfuscation", "system_fingerprint"])

const callOf = ({ arguments: pieces, id, isFunction, name, rest, type }: ToolCall) => ({
  ...(id === undefined ? {} : { id }),
  type,
  ...(isFunction || rest.size === 0 ? { function: { name, arguments: pieces.join("") } } : {}),
  ...Object.fromEntries(rest)
})

export class ReplyAssembler {
  readonly #choices = new Map<number, ChoiceBuilder>()
  readonly #maxCharacters: number
  #size = 0
  readonly #extra = new Map<string, unknown>()
  #end: Extract<ChatEvent, { readonly _tag: "End" }> | null = null

  constructor(maxCharacters: number = MAX_CHARACTERS) {
    this.#maxCharacters = maxCharacters
  }

  add(event: ChatEvent): void {
    if (event._tag === "End") {
      this.#end = event
      return
    }
    if (this.isTooLarge) return
    for (const delta of event.choices) {
      let choice = this.#choices.get(delta.index)
      if (choice === undefined) this.#choices.set(delta.index, (choice = new ChoiceBuilder(delta.index)))
      this.#size += choice.add(delta)
    }
    if (event.extra !== undefined) this.#size += this.#addExtra(event.extra)
    if (!this.isTooLarge) return
    this.#choices.clear()
    this.#extra.clear()
  }

  /** The reply exceeded the size limit, and its content was dropped. */
  get isTooLarge(): boolean {
    return this.#size > this.#maxCharacters
  }

  /** The whole reply; null if the stream did not end well or was too large. */
  build(): ChatReply | null {
    return this.#end === null || this.isTooLarge ? null : this.partial()
  }

  /** The reply so far, ended or not. */
  partial(): ChatReply {
    const choices = Array.from(this.#choices.values(), (choice) => choice.build()).sort((a, b) => a.index - b.index)
    const { usageExtra } = this.#end ?? {}
    return {
      choices,
      ...(this.#extra.size === 0 ? {} : { extra: Object.fromEntries(this.#extra) }),
      usage: this.#end?.usage ?? null,
      ...(usageExtra === undefined ? {} : { usageExtra }),
      systemFingerprint: this.#end?.systemFingerprint ?? null
    }
  }

  /**
   * The last value of each member holds: chunks repeat them whole. Answers by how much the reply
   * has grown.
   */
  #addExtra(extra: Members): number {
    let growth = 0
    for (const [name, value] of Object.entries(extra)) {
      if (ofChunksAlone.has(name) || value === null) continue
      growth += name.length + sizeOf(value) - (this.#extra.has(name) ? name.length + sizeOf(this.#extra.get(name)) : 0)
      this.#extra.set(name, value)
    }
    return growth
  }
}
