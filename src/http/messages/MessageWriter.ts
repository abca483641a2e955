/**
 * Writes a completion's events as those of the Messages API. A block opens with its first piece,
 * and one is open at a time: pieces that arrive while a call is unfinished wait until it ends. The
 * last events have the stop reason, by what was sent, and the whole usage. After an error nothing
 * follows.
 */
import { type Delta, type Members } from "../../domain/Chat.ts"
import { type GatewayError, gatewayError, ProvidersFailed } from "../../domain/Errors.ts"
import { carried } from "../../domain/ThoughtCarrier.ts"
import { type CompletionEvent, type Head } from "../../gateway/request/Answer.ts"
import { messagesErrorBody } from "../errors/ErrorResponse.ts"
import { type CallPiece, CallsInTurn } from "../sse/CallsInTurn.ts"
import { type EventWriter } from "../sse/Sse.ts"
import { blocksIn, membersOf, textOf } from "./Blocks.ts"
import { isTextDelta, namedEvent, nativeEnd, nativeStart, placeOf, type WireEvent } from "./NativeEvents.ts"
import {
  type MessageForm,
  messageHead,
  redactedBlock,
  refusalDetails,
  textBlock,
  thinkingBlock,
  thoughtText,
  toolBlock
} from "./Reply.ts"
import { callDetail, isCarried } from "./Thoughts.ts"
import { firstUsage, messagesUsage, stopReason } from "./Usage.ts"

/** Fills a silence. Clients skip it, and restart their time limit. */
export const PING = `event: ping\ndata: {"type":"ping"}\n\n`

export const eventText = (data: WireEvent): string => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`

type OpenBlock =
  | { readonly kind: "text" }
  | { readonly kind: "thinking"; readonly thought: unknown; detail: Members }
  | { readonly kind: "call"; readonly call: number }
  /** A block that the vendor opened, and closes. */
  | { readonly kind: "native" }

/** A piece of a block. */
type Piece =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "thinking"; readonly thought: unknown; readonly text: string; readonly detail: Members }
  | { readonly kind: "redacted"; readonly detail: Members }

const woven = gatewayError(new ProvidersFailed({ attempts: [], retryAfterMs: null }))

export class MessageWriter implements EventWriter {
  readonly #head: Head
  readonly #form: MessageForm
  readonly #requestId: string
  #out = ""
  #hasStarted = false
  #hasFailed = false
  #blocks = 0
  #open: OpenBlock | null = null
  readonly #turn = new CallsInTurn<Piece>((piece) => this.#add(piece))
  #hasCalls = false
  #finishReason: string | null = null
  #refusal = ""
  #stop: WireEvent = { type: "message_stop" }

  constructor(head: Head, requestId: string, form: MessageForm) {
    this.#head = head
    this.#requestId = requestId
    this.#form = form
  }

  write(event: CompletionEvent): string {
    if (this.#hasFailed) return ""
    this.#out = ""
    switch (event._tag) {
      case "Choices":
        if (event.native !== undefined) {
          this.#takeNative(event.native)
          for (const { finish_reason: reason } of event.choices) this.#finishReason ??= reason
          break
        }
        this.#start()
        for (const { delta, finish_reason: reason, index } of event.choices) {
          if (index !== 0) continue
          for (const piece of this.#piecesOf(delta)) this.#turn.add(piece)
          this.#finishReason ??= reason
        }
        break
      case "Failed":
        this.#fail(event.error)
        break
      case "Usage": {
        this.#start()
        this.#finish()
        const own = nativeEnd(event.native ?? [], event.usage, this.#hasCalls)
        this.#stop = own.stop ?? this.#stop
        for (const each of own.before) this.#emit(each)
        if (own.isEnded) break
        const isRefused = this.#refusal !== ""
        const delta = {
          stop_reason: stopReason(this.#finishReason, this.#hasCalls, isRefused),
          stop_sequence: null,
          stop_details: isRefused ? refusalDetails(this.#refusal) : null
        }
        this.#emit({ type: "message_delta", delta, usage: messagesUsage(event.usage) })
      }
    }
    if (!this.#hasFailed && this.#turn.isOverfull) this.#fail(woven)
    return this.#out
  }

  end(): string {
    return this.#hasFailed ? "" : eventText(this.#stop)
  }

  /** The vendor's own events, as they are. What follows them here goes on in the open block. */
  #takeNative(events: ReadonlyArray<Members>): void {
    for (const event of events) {
      const named = namedEvent(event)
      if (named === null) continue
      if (named.type === "message_start") {
        if (!this.#hasStarted) this.#emit(nativeStart(named, this.#head, this.#form))
        this.#hasStarted = true
        continue
      }
      this.#start()
      // Some servers of this API send a text without its beginning.
      if (this.#open === null && isTextDelta(named)) this.#begin({ kind: "text" }, textBlock(""))
      const place = placeOf(named)
      this.#blocks = place.block ?? this.#blocks
      if (place.open !== undefined) this.#open = place.open === null ? null : { kind: place.open }
      this.#hasCalls ||= place.isCall
      this.#emit(named)
    }
  }

  #emit(data: WireEvent): void {
    this.#out += eventText(data)
  }

  #fail(error: GatewayError): void {
    this.#hasFailed = true
    this.#emit(messagesErrorBody(error, this.#requestId))
  }

  #start(): void {
    if (this.#hasStarted) return
    this.#hasStarted = true
    const usage = firstUsage(this.#head.promptTokens ?? 0)
    const message = { ...messageHead(this.#head, this.#form), content: [], stop_reason: null, usage }
    this.#emit({ type: "message_start", message })
  }

  #piecesOf(delta: Delta): ReadonlyArray<Piece | CallPiece> {
    const pieces: Array<Piece | CallPiece> = []
    const details = blocksIn(delta["reasoning_details"])
    const reasoning = textOf(delta.reasoning)
    const hasText = details.some((detail) => thoughtText(detail) !== "")
    if (reasoning !== "" && !hasText) pieces.push({ kind: "thinking", thought: null, text: reasoning, detail: {} })
    for (const detail of details) {
      if (detail["type"] === "reasoning.encrypted") pieces.push({ kind: "redacted", detail })
      else pieces.push({ kind: "thinking", thought: detail["index"], text: thoughtText(detail), detail })
    }
    const refusal = textOf(delta.refusal)
    this.#refusal += refusal
    const text = textOf(delta.content) + refusal
    if (text !== "") pieces.push({ kind: "text", text })
    for (const wire of blocksIn(delta.tool_calls)) {
      const input = textOf(membersOf(wire["function"])["arguments"])
      const call = typeof wire["index"] === "number" ? wire["index"] : 0
      pieces.push({ kind: "call", call, wire, input, isJson: true })
    }
    return pieces
  }

  #add(piece: Piece | CallPiece): void {
    switch (piece.kind) {
      case "text":
        if (this.#open?.kind !== "text") this.#begin({ kind: "text" }, textBlock(""))
        this.#delta({ type: "text_delta", text: piece.text })
        break
      case "thinking":
        this.#think(piece.thought, piece.text, piece.detail)
        break
      case "redacted":
        this.#whole(redactedBlock(piece.detail))
        break
      case "call":
        this.#call(piece)
    }
  }

  #think(thought: unknown, text: string, detail: Members): void {
    const told = this.#form.omitsThinking ? "" : text
    if (told === "" && !isCarried(detail)) return
    let open = this.#open
    if (open?.kind !== "thinking" || (thought !== null && open.thought !== thought)) {
      open = { kind: "thinking", thought, detail: {} }
      this.#begin(open, thinkingBlock("", ""))
    }
    open.detail = { ...open.detail, ...detail }
    if (told !== "") this.#delta({ type: "thinking_delta", thinking: told })
  }

  #call({ call, input, wire }: CallPiece): void {
    const open = this.#open
    if (open?.kind !== "call" || open.call !== call) {
      const detail = callDetail(wire)
      if (detail !== null) this.#whole(redactedBlock(detail))
      this.#hasCalls = true
      this.#begin({ kind: "call", call }, toolBlock(wire["id"], membersOf(wire["function"])["name"] ?? "", {}))
    }
    if (input !== "") this.#delta({ type: "input_json_delta", partial_json: input })
  }

  #begin(block: OpenBlock, content_block: Members): void {
    this.#close()
    this.#open = block
    this.#emit({ type: "content_block_start", index: this.#blocks, content_block })
  }

  #delta(delta: Members): void {
    this.#emit({ type: "content_block_delta", index: this.#blocks, delta })
  }

  #close(): void {
    const open = this.#open
    if (open === null) return
    if (open.kind === "thinking" && isCarried(open.detail)) {
      this.#delta({ type: "signature_delta", signature: carried(open.detail) })
    }
    this.#emit({ type: "content_block_stop", index: this.#blocks++ })
    this.#open = null
  }

  /** A block that has no pieces. */
  #whole(content_block: Members): void {
    this.#close()
    this.#emit({ type: "content_block_start", index: this.#blocks, content_block })
    this.#emit({ type: "content_block_stop", index: this.#blocks++ })
  }

  #finish(): void {
    this.#turn.finish()
    this.#close()
  }
}
