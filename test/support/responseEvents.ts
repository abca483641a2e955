/**
 * Reads a stream of the Responses API as a strict client does, and fails on an order of events that
 * the API does not have: an item that begins within another, a delta of no part, an item whose end
 * is not what its pieces were, an event after the end.
 */
import { assert } from "@effect/vitest"
import { namedEvents } from "./messageEvents.ts"

type Members = Readonly<Record<string, unknown>>
type Event = ReturnType<typeof namedEvents>[number]

/** What a client has assembled when the stream ends. */
export interface AssembledResponse {
  /** The response of the newest event that has one. */
  readonly response: Members
  /** The items that are done. */
  readonly output: ReadonlyArray<Members>
  /** The event that ended the stream; null: the connection did. */
  readonly ending: "response.completed" | "response.incomplete" | "response.failed" | "error" | null
  readonly error: Members | null
}

const statuses: Readonly<Record<string, string>> = {
  "response.created": "in_progress",
  "response.in_progress": "in_progress",
  "response.completed": "completed",
  "response.incomplete": "incomplete",
  "response.failed": "failed"
}

/** Texts that arrive in pieces: the event of the end has the whole under this name. */
const wholes: Readonly<Record<string, string>> = {
  "response.output_text": "text",
  "response.refusal": "refusal",
  "response.reasoning_text": "text",
  "response.reasoning_summary_text": "text",
  "response.function_call_arguments": "arguments",
  "response.custom_tool_call_input": "input"
}

/** The item that is open, with the pieces of its texts. */
class OpenItem {
  readonly start: Members
  readonly #index: number
  /** By the name of the text and the index of its part. */
  readonly #texts = new Map<string, { text: string; isDone: boolean }>()
  readonly #parts = new Map<string, "open" | "done">()

  constructor(start: Members, index: number) {
    this.start = start
    this.#index = index
  }

  take(event: Event): void {
    assert.strictEqual(event["output_index"], this.#index)
    assert.strictEqual(event["item_id"], this.start["id"])
    const type: string = event["type"]
    const part = event["content_index"] ?? event["summary_index"] ?? "item"
    const [name, step] = [type.slice(0, type.lastIndexOf(".")), type.slice(type.lastIndexOf(".") + 1)]
    if (name === "response.content_part" || name === "response.reasoning_summary_part") {
      assert.strictEqual(this.#parts.get(`${part}`), step === "added" ? undefined : "open")
      this.#parts.set(`${part}`, step === "added" ? "open" : "done")
      return
    }
    if (name === "response.output_text.annotation") return
    const whole = wholes[name] ?? assert.fail(`unknown event ${type}`)
    // A call is one text. Others are texts of a part.
    if (part !== "item" && name !== "response.reasoning_text")
      assert.strictEqual(this.#parts.get(`${part}`), "open", `${type} without its part`)
    const text = this.#texts.get(`${name} ${part}`) ?? { text: "", isDone: false }
    assert.isFalse(text.isDone)
    if (step === "delta") assert.isString(event["delta"])
    // Some models send no pieces of a call's arguments.
    else if (text.text !== "") assert.strictEqual(event[whole], text.text, `${type} is not what its pieces were`)
    const said = step === "delta" ? text.text + event["delta"] : event[whole]
    this.#texts.set(`${name} ${part}`, { text: said, isDone: step === "done" })
  }

  /** The item at its end says the same as its pieces. */
  end(item: Members): Members {
    assert.deepInclude(item, { id: this.start["id"], type: this.start["type"] })
    for (const [part, state] of this.#parts) assert.strictEqual(state, "done", `part ${part} is open`)
    const texts = (name: string) =>
      Array.from(this.#texts).flatMap(([key, { isDone, text }]) => {
        if (!key.startsWith(`${name} `)) return []
        assert.isTrue(isDone, `${key} is not done`)
        return text
      })
    const said = (parts: unknown) =>
      Array.isArray(parts) ? parts.map(({ refusal, text }) => text ?? refusal).filter((text) => text !== "") : []
    switch (item["type"]) {
      case "message":
        assert.sameOrderedMembers(
          [...texts("response.output_text"), ...texts("response.refusal")].filter((text) => text !== ""),
          said(item["content"])
        )
        break
      case "reasoning":
        assert.deepStrictEqual(texts("response.reasoning_summary_text"), said(item["summary"]))
        assert.deepStrictEqual(texts("response.reasoning_text"), said(item["content"]))
        break
      case "function_call":
        assert.strictEqual(texts("response.function_call_arguments").join(""), item["arguments"])
        assert.match(String(item["call_id"]), /./)
        assert.match(String(item["name"]), /./)
        break
      case "custom_tool_call":
        assert.strictEqual(texts("response.custom_tool_call_input").join(""), item["input"])
        break
    }
    return item
  }
}

const isCount = (value: unknown): boolean => Number.isInteger(value) && Number(value) >= 0

const assertUsage = (usage: ReturnType<typeof JSON.parse>): void => {
  const counts = [
    usage.input_tokens,
    usage.input_tokens_details.cached_tokens,
    usage.output_tokens,
    usage.output_tokens_details.reasoning_tokens
  ]
  for (const count of counts) assert.isTrue(isCount(count), JSON.stringify(usage))
  assert.strictEqual(usage.total_tokens, usage.input_tokens + usage.output_tokens)
}

/** Assembles a stream. Fails if it breaks the grammar. */
export const assembledResponse = (text: string): AssembledResponse => {
  let response: Members | null = null
  let ending: AssembledResponse["ending"] = null
  let error: Members | null = null
  let open: OpenItem | null = null
  const output: Array<Members> = []
  for (const [at, event] of namedEvents(text).entries()) {
    const type: string = event["type"]
    assert.isNull(ending, `${type} after the end`)
    assert.strictEqual(event["sequence_number"], at)
    if (type === "error") {
      assert.isString(event["message"])
      error = event
      ending = "error"
      continue
    }
    if (type in statuses) {
      const told: Members = event["response"]
      assert.strictEqual(told["status"], statuses[type])
      assert.strictEqual(type === "response.created", response === null, "created comes first, and once")
      if (response !== null) assert.strictEqual(told["id"], response["id"])
      response = told
      if (type === "response.completed" || type === "response.incomplete" || type === "response.failed") {
        ending = type
        error = type === "response.failed" ? event["response"].error : null
      }
      continue
    }
    assert.isNotNull(response)
    if (type === "response.output_item.added") {
      assert.isNull(open, "one item is open at a time")
      assert.strictEqual(event["output_index"], output.length)
      open = new OpenItem(event["item"], output.length)
    } else if (type === "response.output_item.done") {
      assert.strictEqual(event["output_index"], output.length)
      output.push(open?.end(event["item"]) ?? assert.fail("no item is open"))
      open = null
    } else {
      open = open ?? assert.fail(`${type} of no item`)
      open.take(event)
    }
  }
  if (ending === "response.completed" || ending === "response.incomplete") {
    assert.isNull(open)
    assert.deepStrictEqual(response?.["output"], output)
    assertUsage(response?.["usage"])
  }
  return { response: response ?? {}, output, ending, error }
}
