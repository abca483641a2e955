/**
 * A stream of events gathered into a whole reply, so that one cache entry serves both modes (domain/Replay.ts is the way back).
 * Gathering stops at a size limit, so that no reply is held whole for nothing.
 */
import { type ChatEvent, type ChatReply, type ChoiceDelta, type ReplyChoice } from "../domain/Chat.ts"
import { type TokenUsage } from "../domain/Money.ts"

const MAX_CHARACTERS = 1_048_576

interface ToolCall {
  id?: string
  type: string
  name: string
  arguments: Array<string>
}

class ChoiceBuilder {
  readonly index: number
  readonly #text: { content: Array<string>; refusal: Array<string>; reasoning: Array<string> } = {
    content: [],
    refusal: [],
    reasoning: []
  }
  readonly #calls = new Map<number, ToolCall>()
  readonly #logprobs: Record<string, Array<unknown>> = {}
  #finishReason: string | null = null

  constructor(index: number) {
    this.index = index
  }

  /** Takes a delta and answers how many characters it held. */
  add(choice: ChoiceDelta): number {
    let size = 0
    for (const member of ["content", "refusal", "reasoning"] as const) {
      const text = choice.delta[member]
      if (typeof text !== "string") continue
      this.#text[member].push(text)
      size += text.length
    }
    for (const piece of choice.delta.tool_calls ?? []) {
      let call = this.#calls.get(piece.index)
      if (call === undefined) this.#calls.set(piece.index, (call = { type: "function", name: "", arguments: [] }))
      if (piece.id) call.id = piece.id
      if (piece.type) call.type = piece.type
      if (piece.function?.name) call.name += piece.function.name
      if (piece.function?.arguments) call.arguments.push(piece.function.arguments)
      size += piece.function?.arguments?.length ?? 0
    }
    const logprobs = choice["logprobs"]
    if (typeof logprobs === "object" && logprobs !== null) {
      for (const [member, values] of Object.entries(logprobs)) {
        if (Array.isArray(values)) this.#logprobs[member] = [...(this.#logprobs[member] ?? []), ...values]
      }
    }
    this.#finishReason = choice.finish_reason ?? this.#finishReason
    return size
  }

  build(): ReplyChoice {
    const { content, reasoning, refusal } = this.#text
    const calls = Array.from(this.#calls).sort(([a], [b]) => a - b)
    return {
      index: this.index,
      message: {
        role: "assistant",
        content: content.length === 0 && (calls.length > 0 || refusal.length > 0) ? null : content.join(""),
        ...(refusal.length > 0 ? { refusal: refusal.join("") } : {}),
        ...(reasoning.length > 0 ? { reasoning: reasoning.join("") } : {}),
        ...(calls.length > 0
          ? {
              tool_calls: calls.map(([, call]) => ({
                ...(call.id === undefined ? {} : { id: call.id }),
                type: call.type,
                function: { name: call.name, arguments: call.arguments.join("") }
              }))
            }
          : {})
      },
      ...(Object.keys(this.#logprobs).length > 0 ? { logprobs: this.#logprobs } : {}),
      finish_reason: this.#finishReason
    }
  }
}

export class ReplyBuilder {
  readonly #choices = new Map<number, ChoiceBuilder>()
  readonly #maxCharacters: number
  #size = 0
  #end: { readonly usage: TokenUsage | null; readonly systemFingerprint: string | null } | null = null

  constructor(maxCharacters: number = MAX_CHARACTERS) {
    this.#maxCharacters = maxCharacters
  }

  add(event: ChatEvent): void {
    if (event._tag === "End") {
      this.#end = event
      return
    }
    if (this.#size > this.#maxCharacters) return
    for (const delta of event.choices) {
      let choice = this.#choices.get(delta.index)
      if (choice === undefined) this.#choices.set(delta.index, (choice = new ChoiceBuilder(delta.index)))
      this.#size += choice.add(delta)
    }
    if (this.#size > this.#maxCharacters) this.#choices.clear()
  }

  /** The whole reply; null when the stream did not end well, or was larger than is kept. */
  build(): ChatReply | null {
    if (this.#end === null || this.#size > this.#maxCharacters) return null
    const choices = Array.from(this.#choices.values(), (choice) => choice.build()).sort((a, b) => a.index - b.index)
    return { choices, usage: this.#end.usage, systemFingerprint: this.#end.systemFingerprint }
  }
}
