/** Tools of the Responses API as functions of a chat completion. */
import { assert, it } from "@effect/vitest"
import { Result } from "effect"
import { translated } from "../../../src/http/responses/Request.ts"
import { MOST_TOOLS } from "../../../src/http/responses/Tools.ts"

type Members = Readonly<Record<string, unknown>>

const read = (more: Members) => translated({ model: "test/small", stream: false, input: "Hi", ...more })
const asked = (more: Members) => Result.getOrThrow(read(more))
const tools = (...given: ReadonlyArray<Members>) => asked({ tools: given })

const parameters = { type: "object", properties: { path: { type: "string" } } }
const reading = { type: "function", name: "read", description: "Reads.", parameters, strict: true }
const readingFunction = {
  type: "function",
  function: { name: "read", description: "Reads.", parameters, strict: true }
}
const patching = {
  type: "custom",
  name: "apply_patch",
  description: "Edits files.",
  format: { type: "grammar", syntax: "lark", definition: 'start: "x"' }
}
const issues = {
  type: "namespace",
  name: "mcp__issues",
  description: "The tracker.",
  tools: [
    { type: "function", name: "create", description: "Creates.", parameters, strict: false, defer_loading: true },
    { type: "function", name: "list", parameters: null, strict: null }
  ]
}
const searching = { type: "tool_search", execution: "client", description: "Finds tools.", parameters }
const find = (name: string, given: ReturnType<typeof asked>) =>
  given.request.tools?.map((tool) => tool["function"] as Members).find((tool) => tool["name"] === name)

it("nests functions", () => {
  assert.deepStrictEqual(tools(reading).request.tools as unknown, [readingFunction])
})

it("makes a custom tool a function of one text, and tells its grammar", () => {
  const given = tools(patching)
  assert.deepStrictEqual(find("apply_patch", given), {
    name: "apply_patch",
    description: 'Edits files.\n\nThe text in `input` must follow this grammar (lark):\nstart: "x"',
    parameters: {
      type: "object",
      properties: { input: { type: "string", description: "The tool's whole input, as plain text." } },
      required: ["input"],
      additionalProperties: false
    }
  })
  assert.deepStrictEqual(given.tools.declared("apply_patch"), { kind: "custom", name: "apply_patch" })
})

it("joins the names of a namespace and its tools, and knows them apart", () => {
  const given = tools(issues)
  assert.deepStrictEqual(find("mcp__issues__create", given), {
    name: "mcp__issues__create",
    description: "The tracker.\n\nCreates.",
    parameters,
    strict: false
  })
  assert.deepStrictEqual(find("mcp__issues__list", given), { name: "mcp__issues__list", parameters: {} })
  assert.deepStrictEqual(given.tools.declared("mcp__issues__list"), {
    kind: "function",
    name: "list",
    namespace: "mcp__issues"
  })
  assert.deepStrictEqual(given.dropped, ["tools.defer_loading"])
})

it("takes the tools of the default namespace for tools without one", () => {
  const given = tools({ type: "namespace", name: "functions", description: "", tools: [reading, patching] })
  assert.deepStrictEqual(given.request.tools?.[0] as unknown, readingFunction)
  assert.deepStrictEqual(given.tools.declared("apply_patch"), { kind: "custom", name: "apply_patch" })
})

it("adds the tools of items behind the others, once each", () => {
  const given = asked({
    tools: [reading, searching],
    input: [
      { type: "additional_tools", role: "developer", tools: [patching, reading] },
      { role: "user", content: "Hi" },
      { type: "tool_search_call", call_id: "call_1", execution: "client", arguments: { query: "x" } },
      { type: "tool_search_output", call_id: "call_1", execution: "client", tools: [issues] },
      { type: "tool_search_call", call_id: "call_2", execution: "client", arguments: { query: "y" } },
      { type: "tool_search_output", call_id: "call_2", execution: "client", tools: [issues] }
    ]
  })
  assert.deepStrictEqual(
    given.request.tools?.map((tool) => (tool["function"] as Members)["name"]),
    ["read", "tool_search", "apply_patch", "mcp__issues__create", "mcp__issues__list"]
  )
  assert.deepStrictEqual(given.tools.declared("tool_search"), { kind: "tool_search" })
  assert.strictEqual(given.request.messages.at(-1)?.content, '{"tools":["mcp__issues__create","mcp__issues__list"]}')
})

it("shows a tool that is loaded late once the client's search has found it", () => {
  const late = { ...reading, defer_loading: true }
  const names = (...input: ReadonlyArray<Members>) =>
    asked({ tools: [issues, late, searching], input: [{ role: "user", content: "Hi" }, ...input] }).request.tools?.map(
      (tool) => (tool["function"] as Members)["name"]
    )
  assert.deepStrictEqual(names(), ["mcp__issues__list", "tool_search"])
  assert.deepStrictEqual(
    names(
      { type: "tool_search_call", call_id: "call_1", execution: "client", arguments: { query: "x" } },
      { type: "tool_search_output", call_id: "call_1", execution: "client", tools: [late] }
    ),
    ["mcp__issues__list", "tool_search", "read"]
  )
  assert.deepStrictEqual(tools(late, searching).dropped, [])
})

it("passes the choice of tools on under the providers' names", () => {
  const choice = (tool_choice: unknown) =>
    asked({ tools: [reading, patching, issues, searching], tool_choice, parallel_tool_calls: false }).request
  const chosen = (name: string) => ({ type: "function", function: { name } })
  for (const mode of ["auto", "none", "required"]) assert.strictEqual(choice(mode).tool_choice, mode)
  assert.deepStrictEqual(choice({ type: "function", name: "read" }).tool_choice as unknown, chosen("read"))
  assert.deepStrictEqual(choice({ type: "custom", name: "apply_patch" }).tool_choice as unknown, chosen("apply_patch"))
  assert.deepStrictEqual(
    choice({
      type: "allowed_tools",
      mode: "required",
      tools: [
        { type: "function", name: "read" },
        { type: "function", name: "list", namespace: "mcp__issues" },
        { type: "tool_search" }
      ]
    }).tool_choice as unknown,
    {
      type: "allowed_tools",
      allowed_tools: {
        mode: "required",
        tools: [chosen("read"), chosen("mcp__issues__list"), chosen("tool_search")]
      }
    }
  )
  assert.isFalse(choice("auto").parallel_tool_calls)
  const without = asked({ tool_choice: "auto", parallel_tool_calls: true }).request
  assert.notProperty(without, "tool_choice")
  assert.notProperty(without, "parallel_tool_calls")
})

it("needs a provider of the Responses API for tools of OpenAI's", () => {
  for (const type of ["file_search", "mcp", "code_interpreter", "image_generation", "local_shell", "shell"]) {
    const given = tools(reading, { type })
    assert.strictEqual(given.only?.param, "tools.1")
    assert.include(given.only?.message, type)
    assert.lengthOf(given.request.tools ?? [], 1)
  }
  assert.strictEqual(asked({ tools: [reading], tool_choice: { type: "mcp" } }).only?.param, "tool_choice")
})

it("leaves out a search of the web beside other tools, and needs it where it is asked for", () => {
  const search = { type: "web_search", external_web_access: false }
  const beside = tools(reading, search)
  assert.isNull(beside.only)
  assert.deepStrictEqual(beside.dropped, ["tools.web_search"])
  for (const one of [
    { tools: [search] },
    { tools: [{ type: "web_search_preview_2025_03_11" }] },
    { tools: [reading, search], tool_choice: { type: "web_search" } }
  ]) {
    assert.match(asked(one).only?.param ?? "", /^tools\./)
  }
})

it("has all tools at hand, so the vendor's own search for tools is left out", () => {
  const given = tools({ ...reading, defer_loading: true }, { type: "tool_search" })
  assert.isNull(given.only)
  assert.deepStrictEqual(given.dropped, ["tools.defer_loading", "tools.tool_search"])
  assert.lengthOf(given.request.tools ?? [], 1)
})

it("tells stores and containers of the vendor's account that a tool names", () => {
  const place = (tool: Members) => tools(tool).accountObjects
  assert.strictEqual(place({ type: "file_search", vector_store_ids: ["vs_1"] }), "tools.0.vector_store_ids")
  assert.strictEqual(place({ type: "code_interpreter", container: "cntr_1" }), "tools.0.container")
  assert.strictEqual(
    place({ type: "code_interpreter", container: { type: "auto", file_ids: ["file_1"] } }),
    "tools.0.container.file_ids"
  )
  assert.isNull(place({ type: "code_interpreter", container: { type: "auto" } }))
  assert.isNull(place({ ...reading, parameters: { properties: { file_id: { type: "string" } } } }))
})

it("bounds the tools of a request, wherever they are declared", () => {
  const many = (count: number, from = 0) =>
    Array.from({ length: count }, (_, at) => ({ type: "function", name: `t${from + at}` }))
  const half = MOST_TOOLS / 2
  const request = (more: number) => ({
    tools: [{ type: "namespace", name: "a", tools: many(half) }],
    input: [
      { role: "user", content: "Hi" },
      { type: "tool_search_output", tools: many(half + more) }
    ]
  })
  assert.lengthOf(asked(request(0)).request.tools ?? [], MOST_TOOLS)
  const refused = read(request(1))
  assert.strictEqual(Result.isFailure(refused) ? refused.failure.param : null, `input.1.tools.${half}`)
})

it("refuses tools, namespaces and calls without a name, and with a longer one", () => {
  const param = (more: Members) => {
    const refused = read(more)
    return Result.isFailure(refused) ? refused.failure.param : null
  }
  for (const name of [undefined, "", 1, "x".repeat(257)]) {
    assert.strictEqual(param({ tools: [{ type: "function", name }] }), "tools.0.name")
    assert.strictEqual(param({ tools: [{ type: "namespace", name, tools: [] }] }), "tools.0.name")
    assert.strictEqual(
      param({ tools: [{ type: "namespace", name: "a", tools: [{ type: "custom", name }] }] }),
      "tools.0.tools.0.name"
    )
    assert.strictEqual(param({ input: [{ type: "custom_tool_call", call_id: "c", name, input: "" }] }), "input.0.name")
  }
  assert.isNull(param({ tools: [{ type: "function", name: "x".repeat(256) }] }))
})
