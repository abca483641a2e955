/**
 * Puts the output of a response together from a completion's deltas. An item opens with its first
 * piece, and one is open at a time: pieces that arrive while a call is unfinished wait until it
 * ends.
 */
import { type ChoiceDelta, type Delta, type Members } from "../../domain/Chat.ts"
import { blocksIn, membersOf, textOf } from "../messages/Blocks.ts"
import { thoughtText } from "../messages/Reply.ts"
import { callDetail } from "../messages/Thoughts.ts"
import { type CallPiece, CallsInTurn } from "../sse/CallsInTurn.ts"
import { CallItem, type Emit, type Item, MessageItem, ReasoningItem, VendorItem } from "./Items.ts"
import { encryptedContent } from "./Thoughts.ts"
import { type ToolNames } from "./ToolNames.ts"

type Piece =
  | { readonly kind: "text"; readonly text: string; readonly logprobs: ReadonlyArray<unknown> }
  | { readonly kind: "annotation"; readonly annotation: Members }
  | { readonly kind: "thought"; readonly text: string; readonly detail: Members }

/** Most characters of an output, which is kept until its end: as many as a whole reply may have. */
const MOST_CHARACTERS = 33_554_432

const prefixes = { function: "fc", custom: "ctc", tool_search: "tsc" } as const

/** Events that tell a part of a message. */
const partOfItem = /^response\.(?:output_text|content_part)\./

export class ResponseItems {
  readonly #suffix: string
  readonly #tools: Pick<ToolNames, "declared">
  readonly #emit: Emit
  readonly #turn = new CallsInTurn<Piece>((piece) => this.#write(piece))
  readonly #done: Array<Members> = []
  #open: Item | null = null
  /** The vendor's own events tell the open item. */
  #isTold = false
  #openCall: number | null = null
  #phase: string | null = null
  #characters = 0

  /** `suffix`: the part of the response's id that the ids of its items have too. */
  constructor(suffix: string, tools: Pick<ToolNames, "declared">, emit: Emit) {
    this.#suffix = suffix
    this.#tools = tools
    this.#emit = emit
  }

  /** The output is too long, or its calls are woven into each other more than can wait. */
  get isOverfull(): boolean {
    return this.#characters > MOST_CHARACTERS || this.#turn.isOverfull
  }

  /** The items so far. */
  get output(): ReadonlyArray<Members> {
    return this.#open === null ? this.#done : [...this.#done, this.#open.item("incomplete")]
  }

  add({ delta, logprobs }: ChoiceDelta): void {
    const phase = textOf(delta["phase"])
    if (phase !== "") {
      this.#phase = phase
      if (this.#open instanceof MessageItem) this.#open.setPhase(phase)
    }
    for (const piece of piecesOf(delta, membersOf(logprobs)["content"])) {
      if ("text" in piece) this.#characters += piece.text.length
      if (piece.kind === "call") this.#characters += piece.input.length
      this.#turn.add(piece)
    }
  }

  /**
   * Takes an event of the vendor's own as it is. What follows goes on in the open message. Some
   * servers send texts without the item that they belong to: these get one.
   */
  takeNative(event: Members): void {
    const { item, sequence_number: _, type, ...members } = event
    if (typeof type !== "string" || !/^[\w.]{1,64}$/.test(type)) return
    this.#characters += textOf(event["delta"]).length
    if (type === "response.output_item.added") {
      if (!this.#isTold) this.#close(false)
      this.#open = this.#followed(membersOf(item))
      this.#isTold = true
    } else if (type === "response.output_item.done") {
      this.#characters += JSON.stringify(item).length
      this.#done.push(membersOf(item))
      this.#open = null
      this.#isTold = false
    } else if (!this.#isTold && partOfItem.test(type)) {
      if (type === "response.output_text.delta") this.#message().add(textOf(event["delta"]), [])
      return
    } else if (this.#open instanceof MessageItem) this.#open.follow(event)
    this.#emit(type, item === undefined ? members : { ...members, item })
  }

  #followed(told: Members): Item {
    const { id, phase, type } = told
    if (type !== "message" || typeof id !== "string") return new VendorItem(told)
    const emit = this.#emitOf(id)
    return new MessageItem(id, emit, textOf(phase) || null, true)
  }

  /** Ends the last item. `isCut`: the answer is not whole. */
  finish(isCut: boolean): void {
    this.#turn.finish()
    const isWhole = !(this.#open instanceof CallItem) || this.#turn.isWhole
    this.#close(isCut && !(this.#open instanceof CallItem && isWhole))
  }

  #write(piece: Piece | CallPiece): void {
    switch (piece.kind) {
      case "text":
        return this.#message().add(piece.text, piece.logprobs)
      case "annotation":
        if (this.#open instanceof MessageItem) this.#open.annotate(piece.annotation)
        return
      case "thought":
        return this.#think(piece.detail)
      case "call":
        return this.#call(piece)
    }
  }

  #message(): MessageItem {
    const open = this.#open
    return open instanceof MessageItem ? open : this.#begin("msg", (id, emit) => new MessageItem(id, emit, this.#phase))
  }

  #think(detail: Members): void {
    const open = this.#open
    if (open instanceof ReasoningItem && open.takes(detail)) return open.add(detail)
    if (thoughtText(detail) === "" && encryptedContent(detail) === null) return
    this.#begin("rs", (id, emit) => new ReasoningItem(id, emit, detail)).add(detail)
  }

  #call(piece: CallPiece): void {
    const open = this.#open
    const item = open instanceof CallItem && this.#openCall === piece.call ? open : this.#beginCall(piece)
    item.add(piece.input)
  }

  #beginCall({ call, isJson, wire }: CallPiece): CallItem {
    const detail = callDetail(wire)
    if (detail !== null) this.#begin("rs", (id, emit) => new ReasoningItem(id, emit, detail)).add(detail)
    const tool = this.#tools.declared(textOf(membersOf(wire[isJson ? "function" : "custom"])["name"]))
    const item = this.#begin(
      prefixes[tool.kind],
      (id, emit) => new CallItem(id, emit, tool, wire["id"] ?? `call_${id}`, !isJson)
    )
    this.#openCall = call
    return item
  }

  #begin<A extends Item>(prefix: string, make: (id: string, emit: Emit) => A): A {
    this.#close(false)
    const item_id = `${prefix}_${this.#suffix}${this.#done.length}`
    const item = make(item_id, this.#emitOf(item_id))
    this.#open = item
    return item
  }

  /** Writes events of the item at the end of the output. */
  #emitOf(item_id: string): Emit {
    return (type, members) => {
      const output_index = this.#done.length
      this.#emit(
        type,
        type === "response.output_item.added" ? { output_index, ...members } : { item_id, output_index, ...members }
      )
    }
  }

  #close(isCut: boolean): void {
    const open = this.#open
    if (open === null) return
    open.end()
    const item = open.item(isCut ? "incomplete" : "completed")
    this.#emit("response.output_item.done", { output_index: this.#done.length, item })
    this.#done.push(item)
    this.#open = null
    this.#openCall = null
  }
}

const piecesOf = (delta: Delta, logprobs: unknown): ReadonlyArray<Piece | CallPiece> => {
  const pieces: Array<Piece | CallPiece> = []
  const details = blocksIn(delta["reasoning_details"])
  const reasoning = textOf(delta.reasoning)
  if (reasoning !== "" && !details.some((detail) => thoughtText(detail) !== "")) {
    pieces.push({ kind: "thought", text: reasoning, detail: { type: "reasoning.text", text: reasoning, index: null } })
  }
  for (const detail of details) pieces.push({ kind: "thought", text: thoughtText(detail), detail })
  // Codex shows no refusals, but texts.
  const text = textOf(delta.content) + textOf(delta.refusal)
  if (text !== "") pieces.push({ kind: "text", text, logprobs: Array.isArray(logprobs) ? logprobs : [] })
  for (const annotation of blocksIn(delta["annotations"])) {
    pieces.push({ kind: "annotation", annotation: annotationOf(annotation) })
  }
  for (const wire of blocksIn(delta.tool_calls)) {
    const isJson = wire["custom"] === undefined
    const input = textOf(isJson ? membersOf(wire["function"])["arguments"] : membersOf(wire["custom"])["input"])
    pieces.push({ kind: "call", call: typeof wire["index"] === "number" ? wire["index"] : 0, wire, input, isJson })
  }
  return pieces
}

/** A chat completion has the members under the name of the type. */
const annotationOf = ({ type, ...rest }: Members): Members => {
  const members = { ...rest, ...membersOf(rest[textOf(type)]) }
  Reflect.deleteProperty(members, textOf(type))
  return type === "url_citation"
    ? { type, url: "", title: "", start_index: 0, end_index: 0, ...members }
    : { type, ...members }
}
