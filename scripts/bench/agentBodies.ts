/**
 * Requests of a coding agent: twenty tools, and a conversation of calls and their results, in each
 * of the three APIs. Every body has texts of its own, which no cache has seen.
 */
import { prose } from "./prose.ts"

export type Surface = "chat" | "messages" | "responses"

const TOOLS = 20
const TOOL_RESULT_CHARACTERS = 4_000
/** Texts are cut out of this one at places that differ in every body. */
const source = prose(1_000_000)

/** `count`: the number of the body, which makes its texts its own. */
const textOf = (nonce: string, count: number, part: number, characters: number): string => {
  const at = Math.imul(count * 131 + part, 2_654_435_761) >>> 0
  const from = at % (source.length - characters)
  return `${nonce}-${count}-${part} ${source.slice(from, from + characters)}`
}

const schema = {
  type: "object",
  properties: {
    path: { type: "string", description: "The path of the file, relative to the root of the repository." },
    from: { type: "integer", description: "The first line that is read, counted from one." },
    pattern: { type: "string", description: "A regular expression; only lines that match it are returned." },
    options: { type: "array", items: { type: "string", enum: ["follow", "hidden", "binary", "recursive"] } }
  },
  required: ["path"],
  additionalProperties: false
}
const tools = Array.from({ length: TOOLS }, (_, at) => ({
  name: `tool_${at}`,
  description: prose(600, at + 1),
  parameters: schema
}))
const toolsOf: Readonly<Record<Surface, unknown>> = {
  chat: tools.map((tool) => ({ type: "function", function: tool })),
  messages: tools.map(({ parameters, ...tool }) => ({ ...tool, input_schema: parameters })),
  responses: tools.map((tool) => ({ type: "function", ...tool }))
}

interface Turn {
  readonly id: string
  readonly name: string
  readonly input: { readonly path: string; readonly pattern: string }
  readonly result: string
}

const conversations: Readonly<Record<Surface, (system: string, ask: string, turns: ReadonlyArray<Turn>) => object>> = {
  chat: (system, ask, turns) => ({
    messages: [
      { role: "system", content: system },
      { role: "user", content: ask },
      ...turns.flatMap(({ id, input, name, result }) => [
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id, type: "function", function: { name, arguments: JSON.stringify(input) } }]
        },
        { role: "tool", tool_call_id: id, content: result }
      ])
    ],
    max_tokens: 4_096
  }),
  messages: (system, ask, turns) => ({
    system,
    messages: [
      { role: "user", content: ask },
      ...turns.flatMap(({ id, input, name, result }) => [
        { role: "assistant", content: [{ type: "tool_use", id, name, input }] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: result }] }
      ])
    ],
    max_tokens: 4_096
  }),
  responses: (system, ask, turns) => ({
    instructions: system,
    input: [
      { role: "user", content: ask },
      ...turns.flatMap(({ id, input, name, result }) => [
        { type: "function_call", call_id: id, name, arguments: JSON.stringify(input) },
        { type: "function_call_output", call_id: id, output: result }
      ])
    ],
    store: false,
    max_output_tokens: 4_096
  })
}

/** A body of about `characters`. */
export const agentBody = (
  surface: Surface,
  model: string,
  { characters, count, nonce, stream }: { characters: number; count: number; nonce: string; stream: boolean }
): string => {
  const around = JSON.stringify(toolsOf[surface]).length + 4_000
  const turns = Array.from(
    { length: Math.max(1, Math.round((characters - around) / TOOL_RESULT_CHARACTERS)) },
    (_, at): Turn => ({
      id: `call_${count}_${at}`,
      name: `tool_${at % TOOLS}`,
      input: { path: `src/${nonce}/${count}/${at}.ts`, pattern: "^export" },
      result: textOf(nonce, count, at, TOOL_RESULT_CHARACTERS)
    })
  )
  const conversation = conversations[surface](
    textOf(nonce, count, 1_000, 3_000),
    textOf(nonce, count, 1_001, 500),
    turns
  )
  return JSON.stringify({ model, ...conversation, tools: toolsOf[surface], stream })
}
