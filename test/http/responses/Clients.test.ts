/**
 * Requests of real clients, recorded, with long texts cut: what providers of each dialect receive.
 * Each dialect's body is read by the vendor's own names, and must say what the client said.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import { readFileSync } from "node:fs"
import { ResponsesRequest } from "../../../src/api/responses/Request.ts"
import { type ModelOffer, type ProviderConfig } from "../../../src/domain/Catalog.ts"
import { translated } from "../../../src/http/responses/Request.ts"
import { makeAnthropic } from "../../../src/providers/anthropic/Anthropic.ts"
import { makeBedrock } from "../../../src/providers/bedrock/Bedrock.ts"
import { makeGemini } from "../../../src/providers/gemini/Gemini.ts"
import { makeOpenAi } from "../../../src/providers/openai/OpenAi.ts"
import { type Provider } from "../../../src/providers/Provider.ts"
import { makeResponses } from "../../../src/providers/responses/Responses.ts"
import { type Transport } from "../../../src/providers/transport/Transport.ts"
import { config, offer, replay } from "../../providers/replayedTransport.ts"

type Json = Readonly<Record<string, unknown>>

const isJson = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)
const list = (value: unknown): ReadonlyArray<Json> => (Array.isArray(value) ? value.filter(isJson) : [])
const of = (value: unknown): Json => (isJson(value) ? value : {})
const text = (value: unknown): string => (typeof value === "string" ? value : "")

/** What a body says, whatever its form. */
interface Said {
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

/** The client's own request, in the names under which providers see its tools. */
const saidByClient = (body: Json): Said => {
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

interface Dialect {
  readonly name: string
  readonly make: (config: ProviderConfig, transport: Transport["Service"]) => Provider
  readonly config?: Partial<ProviderConfig>
  readonly offer?: Partial<ModelOffer>
  readonly read: (body: Json) => Said
}

const saidInChat = (body: Json): Said => {
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

const saidInMessages = (body: Json): Said => {
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

const saidInGemini = (body: Json): Said => {
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

const saidInConverse = (body: Json): Said => {
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

const dialects: ReadonlyArray<Dialect> = [
  { name: "openai", make: makeOpenAi, config: { baseUrl: "https://api.openai.com/v1" }, read: saidInChat },
  { name: "another server of the openai dialect", make: makeOpenAi, read: saidInChat },
  { name: "responses", make: makeResponses, offer: { hidesReasoning: true, api: "responses" }, read: saidByClient },
  { name: "anthropic", make: makeAnthropic, offer: { upstream: "claude-sonnet-4-5" }, read: saidInMessages },
  { name: "gemini", make: makeGemini, offer: { upstream: "gemini-3-flash-preview" }, read: saidInGemini },
  { name: "bedrock", make: makeBedrock, offer: { upstream: "anthropic.claude-sonnet-4-5-v1:0" }, read: saidInConverse }
]

const clients = [
  "agents-sdk",
  "ai-sdk",
  "codex",
  "codex-lite",
  "codex-other-model",
  "langchain",
  "opencode",
  "opencode-title"
]

const recorded = (client: string): ResponsesRequest =>
  Schema.decodeUnknownSync(ResponsesRequest)(
    JSON.parse(readFileSync(new URL(`./fixtures/${client}.json`, import.meta.url), "utf8"))
  )

/** The body that a provider of the dialect gets. */
const bodyAt = (dialect: Dialect, client: string): string => {
  const bodies: Array<string> = []
  const transport = replay({ chunks: [], onSend: (_path, body) => void bodies.push(body) })
  const { only, request } = Result.getOrThrow(translated(recorded(client)))
  assert.isNull(only)
  Effect.runSyncExit(
    dialect.make(config(dialect.config), transport).chat({ request, offer: { ...offer, ...dialect.offer } })
  )
  return bodies[0] ?? "{}"
}

/** Texts of one turn may be joined, with or without a space. */
const closed = (one: string): string => one.replaceAll(/\s+/g, "")
const joined = (texts: ReadonlyArray<string>): string => closed(texts.join(""))

describe.each(clients)("a request of %s", (client) => {
  it.each(dialects)("is understood by $name", (dialect) => {
    const body = bodyAt(dialect, client)
    const said = dialect.read(JSON.parse(body))
    const expected = saidByClient(recorded(client))
    assert.deepStrictEqual(said.tools, expected.tools)
    assert.strictEqual(joined(said.instructions), joined(expected.instructions))
    assert.strictEqual(joined(said.user), joined(expected.user))
    assert.strictEqual(joined(said.assistant), joined(expected.assistant))
    assert.deepStrictEqual(said.calls.map(closed), expected.calls.map(closed))
    assert.strictEqual(said.pictures, expected.pictures)
    assert.strictEqual(said.files, expected.files)
  })

  it.each(dialects)("does not give $name the ids of items, or another vendor's reasoning", (dialect) => {
    const body = bodyAt(dialect, client)
    assert.notMatch(body, /"(?:msg|fc|fco|ctc|ctco|tsc|tso|rs|at)_\w+"/)
    const isSealed = JSON.stringify(recorded(client)).includes("gAAAAB")
    assert.strictEqual(body.includes("gAAAAB"), isSealed && dialect.name === "responses")
  })
})

it("tells what is left out of the requests of agents", () => {
  const dropped = (client: string) => Result.getOrThrow(translated(recorded(client))).dropped
  assert.deepStrictEqual(dropped("codex"), ["tools.web_search"])
  assert.deepStrictEqual(dropped("codex-other-model"), ["tools.web_search"])
  assert.deepStrictEqual(dropped("codex-lite"), ["reasoning.context"])
  for (const client of ["opencode", "opencode-title", "agents-sdk", "ai-sdk", "langchain"])
    assert.deepStrictEqual(dropped(client), [])
})

it("gives each of Codex's tools back as it was declared", () => {
  const { tools } = Result.getOrThrow(translated(recorded("codex-lite")))
  assert.deepStrictEqual(tools.declared("exec"), { kind: "custom", name: "exec" })
  assert.deepStrictEqual(tools.declared("mcp__issues__create"), {
    kind: "function",
    name: "create",
    namespace: "mcp__issues"
  })
  assert.deepStrictEqual(Result.getOrThrow(translated(recorded("codex"))).tools.declared("tool_search"), {
    kind: "tool_search"
  })
})
