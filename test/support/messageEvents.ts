/**
 * Reads a stream of the Messages API as a strict client does, and fails on an order of events that
 * the API does not have: a block that opens within another, an event after the end, an input that
 * is not JSON.
 */
import { assert } from "@effect/vitest"

type Members = Readonly<Record<string, unknown>>
type Event = Readonly<Record<string, ReturnType<typeof JSON.parse>>>

/** The events of a stream. Each has its name twice. */
export const namedEvents = (text: string): ReadonlyArray<Event> => {
  assert.match(text, /\n\n$/)
  return text
    .slice(0, -2)
    .split("\n\n")
    .map((frame) => {
      const [, name, data] = /^event: ([\w.]+)\ndata: ([^\n]*)$/.exec(frame) ?? []
      const event: Event = JSON.parse(data ?? assert.fail(`not an event: ${frame}`))
      assert.strictEqual(event["type"], name)
      return event
    })
}

/** What a client has assembled when the stream ends. */
export interface AssembledMessage {
  /** The message without `content`, with the stop reason and the usage of its end. */
  readonly message: Members
  readonly content: ReadonlyArray<Members>
  /** The event that ended the stream; null: the connection did. */
  readonly ending: "message_stop" | "error" | null
  readonly error: Members | null
}

const deltaTypes: Readonly<Record<string, ReadonlyArray<string>>> = {
  text: ["text_delta", "citations_delta"],
  thinking: ["thinking_delta", "signature_delta"],
  tool_use: ["input_json_delta"],
  redacted_thinking: []
}

const isCount = (value: unknown): boolean => Number.isInteger(value) && Number(value) >= 0

/** The end of a stream may tell its output alone. */
const assertUsage = ({ output_tokens: output, ...prompt }: Members): void => {
  assert.isTrue(isCount(output), "output_tokens")
  for (const name of ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"]) {
    const count = prompt[name] ?? 0
    assert.isTrue(isCount(count), name)
  }
}

/** A block while it is open. */
class Block {
  readonly #start: Members
  readonly #type: string
  #text = ""
  #input = ""
  #thinking = ""
  #signature = ""
  readonly #citations: Array<unknown> = []

  constructor(start: Members) {
    this.#start = start
    this.#type = String(start["type"])
    assert.property(deltaTypes, this.#type)
    if (this.#type === "text") assert.strictEqual(start["text"], "")
    if (this.#type === "thinking") assert.deepInclude(start, { thinking: "", signature: "" })
    if (this.#type === "redacted_thinking") assert.match(String(start["data"]), /./)
    if (this.#type === "tool_use") {
      assert.deepStrictEqual(start["input"], {})
      assert.match(String(start["id"]), /./)
      assert.match(String(start["name"]), /./)
    }
  }

  add(delta: Event): void {
    const type: string = delta["type"]
    assert.include(deltaTypes[this.#type] ?? [], type)
    assert.strictEqual(this.#signature, "", "the signature is the last piece of a thought")
    if (type === "citations_delta") this.#citations.push(delta["citation"])
    if (type === "signature_delta") this.#signature = delta["signature"]
    for (const member of ["text", "partial_json", "thinking"]) {
      if (member in delta) assert.isString(delta[member])
    }
    this.#text += delta["text"] ?? ""
    this.#input += delta["partial_json"] ?? ""
    this.#thinking += delta["thinking"] ?? ""
  }

  /** `isOpen`: the stream ended within the block. */
  end(isOpen: boolean): Members {
    switch (this.#type) {
      case "text":
        // A client sends the block back, and providers refuse an empty one.
        assert.notStrictEqual(this.#text, "")
        return { ...this.#start, text: this.#text, citations: this.#citations.length > 0 ? this.#citations : null }
      case "thinking":
        return { ...this.#start, thinking: this.#thinking, signature: this.#signature }
      case "tool_use":
        return { ...this.#start, input: isOpen ? this.#input : inputOf(this.#input) }
      default:
        return this.#start
    }
  }
}

const inputOf = (text: string): unknown => {
  const input: unknown = JSON.parse(text === "" ? "{}" : text)
  assert.isObject(input)
  return input
}

/** Assembles a stream. Fails if it breaks the grammar. */
export const assembledMessage = (text: string): AssembledMessage => {
  let message: Members | null = null
  let ending: AssembledMessage["ending"] = null
  let error: Members | null = null
  let block: Block | null = null
  const content: Array<Members> = []
  let isFinished = false
  for (const event of namedEvents(text)) {
    assert.isNull(ending, `${event["type"]} after the end`)
    switch (event["type"]) {
      case "ping":
        break
      case "message_start": {
        assert.isNull(message)
        const { content: empty, ...head } = event["message"]
        assert.deepInclude(head, { type: "message", role: "assistant", stop_reason: null, stop_sequence: null })
        assert.deepStrictEqual(empty, [])
        assert.match(head.id, /^msg_/)
        assertUsage(head.usage)
        message = head
        break
      }
      case "content_block_start":
        assert.isNotNull(message)
        assert.isNull(block, "one block is open at a time")
        assert.isFalse(isFinished)
        assert.strictEqual(event["index"], content.length)
        block = new Block(event["content_block"])
        break
      case "content_block_delta":
        assert.strictEqual(event["index"], content.length)
        block = block ?? assert.fail("no block is open")
        block.add(event["delta"])
        break
      case "content_block_stop":
        assert.strictEqual(event["index"], content.length)
        content.push(block?.end(false) ?? assert.fail("no block is open"))
        block = null
        break
      case "message_delta":
        assert.isNotNull(message)
        assert.isNull(block, "the block is closed before the message ends")
        assert.isFalse(isFinished)
        assertUsage(event["usage"])
        message = Object.assign({}, message, event["delta"], { usage: event["usage"] })
        isFinished = true
        break
      case "message_stop":
        assert.isTrue(isFinished)
        ending = "message_stop"
        break
      case "error":
        assert.isFalse(isFinished)
        assert.isString(event["error"].type)
        assert.isString(event["error"].message)
        error = event["error"]
        ending = "error"
        break
      default:
        assert.fail(`unknown event ${event["type"]}`)
    }
  }
  if (block !== null) content.push(block.end(true))
  if (ending === "message_stop") assertStop(message ?? {}, content)
  return { message: message ?? {}, content, ending, error }
}

const assertStop = ({ stop_reason: reason }: Members, content: ReadonlyArray<Members>): void => {
  const hasCalls = content.some(({ type }) => type === "tool_use")
  assert.isString(reason)
  if (reason === "end_turn") assert.isFalse(hasCalls)
  if (reason === "tool_use") assert.isTrue(hasCalls)
}
