/**
 * What a request says, read from its body by the vendor's own names: its tools, texts, calls with
 * their results, pictures and files.
 */
import { assert } from "@effect/vitest"

export type Json = Readonly<Record<string, unknown>>

export const isJson = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value)
export const list = (value: unknown): ReadonlyArray<Json> => (Array.isArray(value) ? value.filter(isJson) : [])
export const of = (value: unknown): Json => (isJson(value) ? value : {})
const text = (value: unknown): string => (typeof value === "string" ? value : "")

/** What a body says, whatever its form. */
export interface Said {
  readonly tools: Array<string>
  readonly instructions: Array<string>
  readonly user: Array<string>
  readonly assistant: Array<string>
  /** `name arguments -> result` of each call, in order. */
  readonly calls: Array<string>
  pictures: number
  files: number
}

const nothing = (): Said => ({
  tools: [],
  instructions: [],
  user: [],
  assistant: [],
  calls: [],
  pictures: 0,
  files: 0
})

/** Texts and media of a list of parts, by the types that the vendors name them. */
const readParts = (content: unknown, said: Said): string => {
  if (typeof content === "string") return content
  return list(content)
    .map((part) => {
      if (isJson(part["image"]) || isJson(part["inlineData"]) || /image/.test(text(part["type"]))) {
        const mime = text(of(part["inlineData"])["mimeType"])
        if (mime === "application/pdf") said.files++
        else said.pictures++
      } else if (isJson(part["document"]) || /file|document/.test(text(part["type"]))) said.files++
      return text(part["text"])
    })
    .filter((each) => each !== "")
    .join("\n")
}

const push = (texts: Array<string>, one: string): void => {
  if (one !== "") texts.push(one)
}

const called = (name: unknown, given: unknown): string =>
  `${text(name)} ${JSON.stringify(typeof given === "string" ? JSON.parse(given) : given)}`

/** Joins calls with their results by id. */
class Calls {
  readonly #calls: Array<{ readonly id: string; readonly call: string; result: string | null }> = []
  call(id: unknown, call: string): void {
    this.#calls.push({ id: text(id), call, result: null })
  }
  result(id: unknown, result: string): void {
    const open = this.#calls.find((call) => call.id === id && call.result === null)
    assert.isDefined(open, `no call ${text(id)} before its result`)
    if (open !== undefined) open.result = result
  }
  get all(): Array<string> {
    return this.#calls.map(({ call, result }) => `${call} -> ${result ?? "unanswered"}`)
  }
}

/** A request of the Responses API, with its tools as chat completions name them. */
export const saidInResponses = (body: Json): Said => {
  const said = nothing()
  const calls = new Calls()
  push(said.instructions, text(body["instructions"]))
  const nameOf = (namespace: unknown, name: unknown) =>
    typeof namespace === "string" && namespace !== "functions" ? `${namespace}__${text(name)}` : text(name)
  const addTools = (tools: unknown): Array<string> =>
    list(tools).flatMap((tool) => {
      if (tool["type"] === "namespace") return list(tool["tools"]).map(({ name }) => nameOf(tool["name"], name))
      if (tool["type"] === "tool_search") return ["tool_search"]
      return tool["type"] === "web_search" ? [] : [text(tool["name"])]
    })
  said.tools.push(...addTools(body["tools"]))
  for (const item of list(body["input"])) {
    switch (item["type"] ?? "message") {
      case "message": {
        const words = readParts(item["content"], said)
        push(
          item["role"] === "user" ? said.user : item["role"] === "assistant" ? said.assistant : said.instructions,
          words
        )
        break
      }
      case "function_call":
        calls.call(item["call_id"], called(nameOf(item["namespace"], item["name"]), item["arguments"]))
        break
      case "custom_tool_call":
        calls.call(item["call_id"], called(item["name"], { input: item["input"] }))
        break
      case "tool_search_call":
        calls.call(item["call_id"], called("tool_search", item["arguments"]))
        break
      case "tool_search_output": {
        const found = addTools(item["tools"])
        said.tools.push(...found)
        calls.result(item["call_id"], JSON.stringify({ tools: found }))
        break
      }
      case "additional_tools":
        said.tools.push(...addTools(item["tools"]))
        break
      case "function_call_output":
      case "custom_tool_call_output":
        calls.result(item["call_id"], readParts(item["output"], said))
    }
  }
  said.calls.push(...calls.all)
  return said
}

export const saidInChat = (body: Json): Said => {
  const said = nothing()
  const calls = new Calls()
  said.tools.push(...list(body["tools"]).map((tool) => text(of(tool["function"])["name"])))
  for (const { content, role, tool_call_id: id, tool_calls } of list(body["messages"])) {
    const words = readParts(content, said)
    if (role === "tool") calls.result(id, words)
    else push(role === "user" ? said.user : role === "assistant" ? said.assistant : said.instructions, words)
    for (const call of list(tool_calls)) {
      const { arguments: given, name } = of(call["function"])
      calls.call(call["id"], called(name, given))
    }
  }
  said.calls.push(...calls.all)
  return said
}

export const saidInMessages = (body: Json): Said => {
  const said = nothing()
  const calls = new Calls()
  said.tools.push(...list(body["tools"]).map(({ name }) => text(name)))
  said.instructions.push(...list(body["system"]).map((block) => text(block["text"])))
  for (const { content, role } of list(body["messages"])) {
    for (const block of list(content)) {
      if (block["type"] === "tool_use") calls.call(block["id"], called(block["name"], block["input"]))
      else if (block["type"] === "tool_result") calls.result(block["tool_use_id"], readParts(block["content"], said))
      else push(role === "user" ? said.user : said.assistant, readParts([block], said))
    }
  }
  said.calls.push(...calls.all)
  return said
}

/** Gemini's results are objects: the tool's own, or one around its text. */
const resultOf = (response: unknown): string => {
  const { output, result } = of(response)
  const told = output ?? result
  return typeof told === "string" ? told : JSON.stringify(response)
}

export const saidInGemini = (body: Json): Said => {
  const said = nothing()
  /** Results name no call: they come in the order of the calls. */
  const open: Array<string> = []
  said.tools.push(
    ...list(body["tools"]).flatMap((tool) => list(tool["functionDeclarations"]).map(({ name }) => text(name)))
  )
  said.instructions.push(...list(of(body["systemInstruction"])["parts"]).map((part) => text(part["text"])))
  for (const { parts, role } of list(body["contents"])) {
    for (const part of list(parts)) {
      const call = part["functionCall"]
      const result = part["functionResponse"]
      if (isJson(call)) open.push(called(call["name"], call["args"]))
      else if (isJson(result)) {
        said.pictures += list(result["parts"]).length
        said.calls.push(`${open.shift() ?? "no call"} -> ${resultOf(result["response"])}`)
      } else push(role === "user" ? said.user : said.assistant, readParts([part], said))
    }
  }
  return said
}

export const saidInConverse = (body: Json): Said => {
  const said = nothing()
  const calls = new Calls()
  said.tools.push(...list(of(body["toolConfig"])["tools"]).map((tool) => text(of(tool["toolSpec"])["name"])))
  said.instructions.push(...list(body["system"]).map((block) => text(block["text"])))
  for (const { content, role } of list(body["messages"])) {
    for (const block of list(content)) {
      const { toolResult: result, toolUse: use } = block
      if (isJson(use)) calls.call(use["toolUseId"], called(use["name"], use["input"]))
      else if (isJson(result)) calls.result(result["toolUseId"], readParts(result["content"], said))
      else push(role === "user" ? said.user : said.assistant, readParts([block], said))
    }
  }
  said.calls.push(...calls.all)
  return said
}
