/** Bodies of any shape for each endpoint that forwards text, with values that must not leave. */
import { type Dice } from "../../scripts/privacyEval/Dice.ts"
import { valueOf } from "../../scripts/privacyEval/Values.ts"
import { allEntities } from "../../src/domain/Privacy.ts"

/** Makes bodies and records the values that it plants in them. */
export class Planter {
  readonly planted: Array<string> = []
  readonly dice: Dice
  constructor(dice: Dice) {
    this.dice = dice
  }

  /** A text with a value between words. */
  text(): string {
    const { found, text } = valueOf(this.dice, this.dice.pick(allEntities))
    this.planted.push(found)
    return `${this.dice.pick(["", "to ", "Hi, "])}${text}${this.dice.pick(["", " please", "\nthanks"])}`
  }

  /** A short one: long ids of users are sent as digests. */
  address(): string {
    const address = `ann.${this.dice.int(1, 999)}@example.com`
    this.planted.push(address)
    return address
  }

  card(): number {
    this.planted.push("4111111111111111")
    return 4_111_111_111_111_111
  }

  /** Any value, nested to any depth. */
  value(depth = 0): unknown {
    const { dice } = this
    switch (dice.int(0, depth > 4 ? 3 : 6)) {
      case 0:
      case 1:
        return this.text()
      case 2:
        return this.card()
      case 3:
        return dice.pick([null, true, 12.5, 0, "", "nothing", "a word"])
      case 4:
        return Array.from({ length: dice.int(0, 3) }, () => this.value(depth + 1))
      default:
        return this.object(depth + 1)
    }
  }

  object(depth = 0): Record<string, unknown> {
    const names = [
      "data",
      "id",
      "signature",
      "type",
      "name",
      "title",
      "content",
      "file",
      "source",
      "x-note",
      "__proto__"
    ]
    const count = this.dice.int(1, 4)
    return Object.fromEntries(
      Array.from({ length: count }, () => [
        this.dice.chance(0.2) ? this.text() : this.dice.pick(names),
        this.value(depth + 1)
      ])
    )
  }

  part(): Record<string, unknown> {
    const { dice } = this
    const type = dice.pick([
      "text",
      "document",
      "tool_result",
      "thinking",
      "image_url",
      "file",
      "input_audio",
      "odd",
      ""
    ])
    const known = {
      text: { text: this.text() },
      thinking: { thinking: this.text(), signature: this.text() },
      image_url: { image_url: { url: `https://example.com/${dice.int(1, 9)}.png`, note: this.text() } },
      file: { file: { filename: this.text(), file_data: this.text() } },
      input_audio: { input_audio: { data: this.text(), format: "wav" } },
      tool_result: {
        tool_use_id: this.text(),
        content: dice.chance(0.5) ? this.text() : [{ type: "text", text: this.text() }]
      }
    }
    return {
      ...(type === "" ? {} : { type }),
      ...known[type as keyof typeof known],
      ...(dice.chance(0.5) ? this.object() : {})
    }
  }

  message(): Record<string, unknown> {
    const { dice } = this
    const content = () => (dice.chance(0.5) ? this.text() : Array.from({ length: dice.int(1, 3) }, () => this.part()))
    switch (dice.pick(["system", "user", "assistant", "tool"])) {
      case "assistant":
        return {
          role: "assistant",
          content: content(),
          tool_calls: [
            {
              id: `call_${dice.int(1, 9)}`,
              type: "function",
              function: { name: "f", arguments: JSON.stringify(this.object()), note: this.value() }
            }
          ],
          ...(dice.chance(0.5) ? { reasoning_details: [this.object()], anything: this.value() } : {})
        }
      case "tool":
        return {
          role: "tool",
          tool_call_id: `call_${dice.int(1, 9)}`,
          content: dice.chance(0.5) ? JSON.stringify(this.object()) : content()
        }
      default:
        return {
          role: dice.pick(["system", "user"]),
          content: content(),
          ...(dice.chance(0.3) ? { name: this.text() } : {})
        }
    }
  }

  chat(): Record<string, unknown> {
    const { dice } = this
    return {
      model: "test/small",
      messages: Array.from({ length: dice.int(1, 4) }, () => this.message()),
      ...(dice.chance(0.5) ? { user: this.text(), metadata: this.object() } : {}),
      ...(dice.chance(0.5) ? { stop: [this.text()], documents: [this.object()] } : {}),
      ...(dice.chance(0.5)
        ? { response_format: { type: "json_schema", json_schema: { name: "n", schema: this.object() } } }
        : {}),
      ...(dice.chance(0.5)
        ? {
            tools: [{ type: "function", function: { name: "f", description: this.text(), parameters: this.object() } }]
          }
        : {}),
      ...(dice.chance(0.5) ? { prediction: { type: "content", content: this.text() }, logit_bias: this.object() } : {})
    }
  }

  /** A request of the Messages API with what only its own providers know. */
  nativeMessages(): Record<string, unknown> {
    const { dice } = this
    const body = this.messages()
    const odd = () => ({ ...this.part(), ...this.object() })
    return {
      ...body,
      messages: [
        ...(body["messages"] as ReadonlyArray<unknown>),
        {
          role: "assistant",
          content: [odd(), { type: "server_tool_use", id: "srvtoolu_1", name: "f", input: this.object() }]
        },
        {
          role: "user",
          content: [{ type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [odd()] }, odd()]
        }
      ],
      ...(dice.chance(0.5)
        ? { tools: [{ type: "web_search_20250305", name: "web_search", user_location: this.object() }] }
        : {}),
      ...(dice.chance(0.5) ? { context_management: { edits: [this.object()] }, diagnostics: this.object() } : {}),
      ...(dice.chance(0.5)
        ? { mcp_servers: [{ type: "url", name: this.text(), url: `https://example.com/?q=${this.text()}` }] }
        : {}),
      ...(dice.chance(0.5) ? { fallbacks: [{ model: "test/small", note: this.text() }] } : {}),
      [this.text()]: this.value()
    }
  }

  /** A content of the Messages API: a text, or blocks made by `block`. */
  #content(block: () => Record<string, unknown>): unknown {
    return this.dice.chance(0.3) ? this.text() : Array.from({ length: this.dice.int(1, 3) }, block)
  }

  #plainBlock(): Record<string, unknown> {
    const { dice } = this
    const text = () => ({ type: "text", text: this.text() })
    const source = dice.pick([
      { type: "base64", media_type: "application/pdf", data: "AAAA" },
      { type: "url", url: "https://example.com/a.pdf" }
    ])
    const known = {
      text,
      image: () => ({ type: "image", source: { type: "url", url: `https://example.com/${dice.int(1, 9)}.png` } }),
      document: () => ({ type: "document", title: this.text(), context: this.text(), source }),
      plain: () => ({ type: "document", title: this.text(), source: { type: "text", data: this.text() } }),
      parts: () => ({ type: "document", context: this.text(), source: { type: "content", content: [text()] } }),
      search_result: () => ({
        type: "search_result",
        title: this.text(),
        source: `https://example.com/?q=${this.text()}`,
        content: [text()]
      })
    }
    return {
      ...known[dice.pick(Object.keys(known) as Array<keyof typeof known>)](),
      cache_control: { type: "ephemeral" }
    }
  }

  /** A turn of the user, of instructions, or of the assistant with the results of its calls. */
  #turns(): ReadonlyArray<Record<string, unknown>> {
    const { dice } = this
    if (dice.chance(0.5))
      return [{ role: dice.pick(["user", "user", "system"]), content: this.#content(() => this.#plainBlock()) }]
    const id = `toolu_${dice.int(1, 9)}`
    return [
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: this.text(), signature: dice.pick(["", "c2lnbmVk"]) },
          { type: "text", text: this.text() },
          { type: "tool_use", id, name: "f", input: this.object() }
        ]
      },
      {
        role: "user",
        content: [
          {
            type: "tool_result",
            tool_use_id: id,
            is_error: dice.chance(0.3),
            content: dice.chance(0.3) ? JSON.stringify(this.object()) : this.#content(() => this.#plainBlock())
          },
          { type: "text", text: this.text() }
        ]
      }
    ]
  }

  /** A request of the Messages API. */
  messages(): Record<string, unknown> {
    const { dice } = this
    return {
      model: "test/small",
      max_tokens: 100,
      messages: Array.from({ length: dice.int(1, 3) }, () => this.#turns()).flat(),
      ...(dice.chance(0.5) ? { system: this.#content(() => ({ type: "text", text: this.text() })) } : {}),
      ...(dice.chance(0.5) ? { metadata: { user_id: this.address() }, stop_sequences: [this.text()] } : {}),
      ...(dice.chance(0.5)
        ? {
            tools: [
              { name: "f", description: this.text(), input_schema: { type: "object", properties: this.object() } }
            ]
          }
        : {})
    }
  }

  /**
   * Items of a turn: what the user says, or what the assistant does, with the outputs of its calls.
   */
  #items(): ReadonlyArray<Record<string, unknown>> {
    const { dice } = this
    const parts = (type: string) =>
      dice.chance(0.3) ? this.text() : Array.from({ length: dice.int(1, 3) }, () => ({ type, text: this.text() }))
    const file = () => ({ type: "input_file", filename: this.text(), file_data: "data:application/pdf;base64,AAAA" })
    if (dice.chance(0.5)) {
      const content = dice.chance(0.7) ? parts("input_text") : [file(), { type: "input_text", text: this.text() }]
      return [{ type: "message", role: dice.pick(["user", "developer", "system"]), content }]
    }
    const id = `call_${dice.int(1, 9)}`
    const isCustom = dice.chance(0.3)
    const output = dice.chance(0.3) ? JSON.stringify(this.object()) : parts("input_text")
    return [
      {
        type: "reasoning",
        id: "rs_1",
        summary: [{ type: "summary_text", text: this.text() }],
        ...(dice.chance(0.5) ? { encrypted_content: "c2VhbGVk" } : {})
      },
      { type: "message", role: "assistant", content: parts("output_text") },
      isCustom
        ? { type: "custom_tool_call", call_id: id, name: "edit", input: this.text() }
        : { type: "function_call", call_id: id, name: "f", arguments: JSON.stringify(this.object()) },
      { type: isCustom ? "custom_tool_call_output" : "function_call_output", call_id: id, output }
    ]
  }

  /** A request of the Responses API. */
  responses(): Record<string, unknown> {
    const { dice } = this
    const tool = () => ({ type: "function", name: "f", description: this.text(), parameters: this.object() })
    return {
      model: "test/small",
      input: dice.chance(0.1) ? this.text() : Array.from({ length: dice.int(1, 4) }, () => this.#items()).flat(),
      ...(dice.chance(0.5) ? { instructions: this.text() } : {}),
      ...(dice.chance(0.5) ? { metadata: { note: this.text() }, user: this.address() } : {}),
      ...(dice.chance(0.5)
        ? { text: { format: { type: "json_schema", name: "n", description: this.text(), schema: this.object() } } }
        : {}),
      ...(dice.chance(0.5)
        ? {
            tools: [
              tool(),
              { type: "custom", name: "edit", description: this.text() },
              { type: "namespace", name: "ns", description: this.text(), tools: [tool()] }
            ]
          }
        : {})
    }
  }

  /** With items, tools and members that only a provider of the Responses API takes. */
  nativeResponses(): Record<string, unknown> {
    const { dice } = this
    const { input, ...body } = this.responses()
    const items: ReadonlyArray<unknown> = Array.isArray(input) ? input : []
    return {
      ...body,
      input: [
        ...items,
        { type: "mcp_call", id: "mcp_1", name: "f", server_label: "s", arguments: JSON.stringify(this.object()) },
        { type: "web_search_call", id: "ws_1", status: "completed", action: { type: "search", query: this.text() } },
        { type: "message", role: "user", content: [{ ...this.part(), ...this.object() }] },
        { type: "unheard_of", note: this.text(), value: this.value() }
      ],
      tools: [{ type: "web_search", user_location: this.object() }],
      ...(dice.chance(0.5) ? { context_management: [this.object()], moderation: this.object() } : {}),
      ...(dice.chance(0.5) ? { client_metadata: this.object() } : {}),
      [this.text()]: this.value()
    }
  }

  embeddings(): Record<string, unknown> {
    return {
      model: "test/embed",
      input: Array.from({ length: 4 }, () => this.text()),
      user: this.text(),
      own: this.value()
    }
  }
}
