/**
 * The items of a response while they are written: a message, reasoning, a call. Each announces
 * itself, writes its pieces as events, and ends with the whole item.
 */
import { type Members } from "../../domain/Chat.ts"
import { parseJson } from "../../domain/json/Json.ts"
import { membersOf, textOf } from "../messages/Blocks.ts"
import { thoughtText } from "../messages/Reply.ts"
import { RawInput } from "./RawInput.ts"
import { encryptedContent } from "./Thoughts.ts"
import { type DeclaredTool } from "./ToolNames.ts"

/** Writes an event of the item: its type, and its members beside those of its place. */
export type Emit = (type: string, members: Members) => void

export type ItemStatus = "in_progress" | "completed" | "incomplete"

export interface Item {
  /** The item, whole or as far as it has come. */
  readonly item: (status: ItemStatus) => Members
  /** Writes the ends of the item's parts. */
  readonly end: () => void
}

export class MessageItem implements Item {
  readonly #id: string
  readonly #emit: Emit
  #phase: string | null
  /** The parts that have ended. */
  readonly #parts: Array<Members> = []
  /** The part that is open. */
  #open: { text: string; readonly annotations: Array<Members>; readonly logprobs: Array<unknown> } | null = null

  /** `isTold`: the vendor's own events tell the item, and it is only followed. */
  constructor(id: string, emit: Emit, phase: string | null, isTold = false) {
    this.#id = id
    this.#emit = emit
    this.#phase = phase
    if (!isTold) emit("response.output_item.added", { item: this.item("in_progress") })
  }

  add(text: string, logprobs: ReadonlyArray<unknown>): void {
    const open = this.#opened()
    open.text += text
    for (const logprob of logprobs) open.logprobs.push(logprob)
    this.#emit("response.output_text.delta", { ...this.#place(), delta: text, logprobs })
  }

  annotate(annotation: Members): void {
    const annotation_index = this.#opened().annotations.push(annotation) - 1
    this.#emit("response.output_text.annotation.added", { ...this.#place(), annotation_index, annotation })
  }

  setPhase(phase: string): void {
    this.#phase = phase
  }

  /** Takes note of the vendor's own event. */
  follow({ annotation, delta, part, type }: Members): void {
    if (type === "response.content_part.added") this.#open ??= { text: "", annotations: [], logprobs: [] }
    if (type === "response.output_text.delta" && this.#open !== null) this.#open.text += textOf(delta)
    if (type === "response.output_text.annotation.added") this.#open?.annotations.push(membersOf(annotation))
    if (type !== "response.content_part.done") return
    this.#parts.push(membersOf(part))
    this.#open = null
  }

  end(): void {
    if (this.#open === null) return
    const { logprobs, text } = this.#open
    const part = outputText(this.#open)
    this.#emit("response.output_text.done", { ...this.#place(), text, logprobs: [...logprobs] })
    this.#emit("response.content_part.done", { ...this.#place(), part })
    this.#parts.push(part)
    this.#open = null
  }

  item(status: ItemStatus): Members {
    const content = this.#open === null ? this.#parts : [...this.#parts, outputText(this.#open)]
    const phase = this.#phase === null ? {} : { phase: this.#phase }
    return { id: this.#id, type: "message", status, role: "assistant", content: [...content], ...phase }
  }

  #opened() {
    if (this.#open !== null) return this.#open
    const open = (this.#open = { text: "", annotations: [], logprobs: [] })
    this.#emit("response.content_part.added", { ...this.#place(), part: outputText(open) })
    return open
  }

  #place(): Members {
    return { content_index: this.#parts.length }
  }
}

/** An item of a kind that the vendor alone has, as it told it at first. */
export class VendorItem implements Item {
  readonly #told: Members

  constructor(told: Members) {
    this.#told = told
  }

  end(): void {}

  item(status: ItemStatus): Members {
    return "status" in this.#told ? { ...this.#told, status } : this.#told
  }
}

const outputText = ({
  annotations,
  logprobs,
  text
}: {
  readonly text: string
  readonly annotations: ReadonlyArray<Members>
  readonly logprobs: ReadonlyArray<unknown>
}) => ({ type: "output_text", text, annotations: [...annotations], logprobs: [...logprobs] })

/**
 * Texts of thoughts are written as a summary, because clients show nothing else. The last detail
 * that a provider wants back is the encrypted content.
 */
export class ReasoningItem implements Item {
  readonly #id: string
  readonly #emit: Emit
  /** The provider's id of the item; details of one id belong together. */
  readonly #of: unknown
  readonly #texts: Array<string> = []
  /** The first piece of the newest detail. */
  #thought: Members
  #isPartOpen = false
  #detail: Members = {}

  constructor(id: string, emit: Emit, detail: Members) {
    this.#id = id
    this.#emit = emit
    this.#of = detail["id"]
    this.#thought = detail
    emit("response.output_item.added", { item: this.item() })
  }

  /**
   * Whether a piece continues the item: it is of the same thought, or of the provider's same item.
   */
  takes(detail: Members): boolean {
    return this.#isSame(detail) || (typeof this.#of === "string" && detail["id"] === this.#of)
  }

  #isSame({ index, type }: Members): boolean {
    return index === null || (index === this.#thought["index"] && type === this.#thought["type"])
  }

  add(detail: Members): void {
    if (!this.#isSame(detail)) {
      this.end()
      this.#thought = detail
      this.#detail = {}
    }
    this.#detail = { ...this.#detail, ...detail }
    const delta = thoughtText(detail)
    if (delta === "") return
    if (!this.#isPartOpen) {
      this.#texts.push("")
      this.#isPartOpen = true
      this.#emit("response.reasoning_summary_part.added", { ...this.#place(), part: summaryText("") })
    }
    this.#texts.push((this.#texts.pop() ?? "") + delta)
    this.#emit("response.reasoning_summary_text.delta", { ...this.#place(), delta })
  }

  end(): void {
    if (!this.#isPartOpen) return
    this.#isPartOpen = false
    const text = this.#texts.at(-1) ?? ""
    this.#emit("response.reasoning_summary_text.done", { ...this.#place(), text })
    this.#emit("response.reasoning_summary_part.done", { ...this.#place(), part: summaryText(text) })
  }

  item(): Members {
    const sealed = encryptedContent(this.#detail)
    return {
      id: this.#id,
      type: "reasoning",
      summary: this.#texts.map(summaryText),
      ...(sealed === null ? {} : { encrypted_content: sealed })
    }
  }

  #place(): Members {
    return { summary_index: this.#texts.length - 1 }
  }
}

const summaryText = (text: string) => ({ type: "summary_text", text })

/** A call of the kind that the client declared. */
export class CallItem implements Item {
  readonly #id: string
  readonly #emit: Emit
  readonly #tool: DeclaredTool
  readonly #callId: unknown
  /** Null: the pieces are the input as it is. */
  readonly #raw: RawInput | null
  #input = ""

  /** `isRaw`: the provider knows custom tools, and sends their input as it is. */
  constructor(id: string, emit: Emit, tool: DeclaredTool, callId: unknown, isRaw: boolean) {
    this.#id = id
    this.#emit = emit
    this.#tool = tool
    this.#callId = callId
    this.#raw = tool.kind === "custom" && !isRaw ? new RawInput() : null
    emit("response.output_item.added", { item: this.item("in_progress") })
  }

  add(piece: string): void {
    this.#write(this.#raw === null ? piece : this.#raw.add(piece))
  }

  end(): void {
    if (this.#raw !== null) this.#write(this.#raw.end())
    // Clients parse the arguments of a function.
    if (this.#tool.kind === "function" && this.#input.trim() === "") this.#write("{}")
    if (this.#tool.kind === "function") {
      this.#emit("response.function_call_arguments.done", { arguments: this.#input })
    }
    if (this.#tool.kind === "custom") this.#emit("response.custom_tool_call_input.done", { input: this.#input })
  }

  item(status: ItemStatus): Members {
    const tool = this.#tool
    const call = { id: this.#id, call_id: this.#callId, status }
    if (tool.kind === "tool_search") {
      return { ...call, type: "tool_search_call", execution: "client", arguments: membersOf(parseJson(this.#input)) }
    }
    const named = { name: tool.name, ...(tool.namespace === undefined ? {} : { namespace: tool.namespace }) }
    return tool.kind === "custom"
      ? { ...call, type: "custom_tool_call", ...named, input: this.#input }
      : { ...call, type: "function_call", ...named, arguments: this.#input }
  }

  #write(delta: string): void {
    if (delta === "") return
    this.#input += delta
    if (this.#tool.kind === "function") this.#emit("response.function_call_arguments.delta", { delta })
    if (this.#tool.kind === "custom") this.#emit("response.custom_tool_call_input.delta", { delta })
  }
}
