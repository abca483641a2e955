import { assert, it } from "@effect/vitest"
import { Schema } from "effect"
import { type DeclaredTool, ToolNames } from "../../../src/http/responses/ToolNames.ts"

const NAME = /^[\w-]{1,64}$/

const named = (...tools: ReadonlyArray<DeclaredTool>): ReadonlyArray<string> => {
  const names = new ToolNames()
  return tools.map((tool) => names.nameOf(tool))
}

it("gives a tool of a namespace both names, and a plain tool its own", () => {
  const names = new ToolNames()
  const create: DeclaredTool = { kind: "function", name: "create", namespace: "mcp__issues" }
  assert.strictEqual(names.nameOf({ kind: "function", name: "exec_command" }), "exec_command")
  assert.strictEqual(names.nameOf(create), "mcp__issues__create")
  assert.strictEqual(names.nameOf({ kind: "tool_search" }), "tool_search")
  assert.deepStrictEqual(names.declared("mcp__issues__create"), create)
  assert.deepStrictEqual(names.declared("invented"), { kind: "function", name: "invented" })
})

it("keeps tools apart whose joined names are the same", () => {
  const [first, second, third, fourth] = named(
    { kind: "function", name: "a__b__c" },
    { kind: "function", name: "c", namespace: "a__b" },
    { kind: "function", name: "b__c", namespace: "a" },
    { kind: "custom", name: "a__b__c" }
  )
  assert.strictEqual(first, "a__b__c")
  assert.strictEqual(new Set([first, second, third, fourth]).size, 4)
})

it("shortens and cleans the names that providers refuse, and tells them apart", () => {
  const long = "x".repeat(200)
  const names = named(
    { kind: "function", name: `${long}1` },
    { kind: "function", name: `${long}2` },
    { kind: "function", name: "read", namespace: "files.of.mine" },
    { kind: "function", name: "read", namespace: "files of mine" },
    { kind: "function", name: "" },
    { kind: "custom", name: "größe 📏" }
  )
  for (const name of names) assert.match(name, NAME)
  assert.strictEqual(new Set(names).size, names.length)
})

const Kind = Schema.Literals(["function", "custom"])
const Name = Schema.Union([Schema.Literals(["a", "b", "a__b", "b__a", "tool_search"]), Schema.String])
const Tool = Schema.Union([
  Schema.Struct({ kind: Schema.Literal("tool_search") }),
  Schema.Struct({ kind: Kind, name: Name }),
  Schema.Struct({ kind: Kind, name: Name, namespace: Name })
])

it.prop(
  "gives each tool one name of its own, the same again when tools are added behind",
  { tools: Schema.Array(Tool), added: Schema.Array(Tool) },
  ({ added, tools }) => {
    const names = new ToolNames()
    const given = tools.map((tool) => names.nameOf(tool))
    for (const tool of [...tools, ...added]) {
      const name = names.nameOf(tool)
      assert.match(name, NAME)
      assert.deepStrictEqual(names.declared(name), tool)
    }
    assert.deepStrictEqual(named(...tools, ...added).slice(0, tools.length), given)
  }
)
