/**
 * The state of a request is passed on: its types can only be read, and no code changes what is of
 * them.
 */
import { assert, describe, it } from "@effect/vitest"
import { type Expression, type MemberExpression, Visitor } from "oxc-parser"
import { parseSource, readSources, type SourceFile } from "../../scripts/sourceFiles.ts"

/** Where the types of a request's state are declared. */
const stateFiles = /^src\/gateway\/(?:request\/|routing\/RoutedRequest\.ts$)/
/** Who may change a reservation. Policy tells it of the tokens that the rate limit took. */
const billing = /^src\/gateway\/(?:billing\/|chat\/Policy\.ts )/
/** Who may write the log of calls. Completion tells it that the client has left. */
const routing = /^src\/gateway\/routing\//

const mutable = new Set(["Array", "Map", "Set"])
/** How code names what holds the state. */
const holders = new Set(["plan", "request", "record", "metadata", "budget", "guarded", "sent", "answer", "order"])
const changing = new Set(["push", "pop", "shift", "unshift", "splice", "sort", "reverse", "fill", "copyWithin"])

interface Declared {
  /** Members of the interfaces, by name. */
  readonly members: ReadonlySet<string>
  /** Those that can be assigned, and those whose value can be changed, as `path:line name`. */
  readonly writable: ReadonlyArray<string>
}

/** The members that the interfaces of a request's state declare. */
const declared = (files: ReadonlyArray<SourceFile>): Declared => {
  const members = new Set<string>()
  const writable: Array<string> = []
  for (const { lineAt, path, program } of files) {
    if (!stateFiles.test(path)) continue
    new Visitor({
      TSPropertySignature({ key, readonly, start }) {
        if (key.type !== "Identifier") return
        members.add(key.name)
        if (!readonly) writable.push(`${path}:${lineAt(start)} ${key.name}`)
      },
      TSMethodSignature: ({ start }) => void writable.push(`${path}:${lineAt(start)} method`),
      TSArrayType: (node) => {
        writable.push(`${path}:${lineAt(node.start)} array`)
      },
      TSTypeReference({ start, typeName }) {
        if (typeName.type === "Identifier" && mutable.has(typeName.name))
          writable.push(`${path}:${lineAt(start)} ${typeName.name}`)
      }
    }).visit(program)
  }
  return { members, writable }
}

/** The name that an expression ends with: `plan` of `plan` and of `request.plan`. */
const endOf = (node: Expression): string | undefined => {
  if (node.type === "Identifier") return node.name
  return node.type === "MemberExpression" && node.property.type === "Identifier" ? node.property.name : undefined
}

/** Assignments to a member of what holds the state, and calls that change a list in it. */
const changes = (files: ReadonlyArray<SourceFile>): ReadonlyArray<string> => {
  const found: Array<string> = []
  for (const { lineAt, path, program } of files) {
    const report = (start: number, target: { readonly type: string }) => {
      const { object, property } = target as Partial<MemberExpression>
      if (target.type !== "MemberExpression" || object === undefined || property?.type !== "Identifier") return
      if (holders.has(endOf(object) ?? "")) found.push(`${path}:${lineAt(start)} ${property.name}`)
    }
    new Visitor({
      AssignmentExpression: ({ left, start }) => report(start, left),
      UpdateExpression: ({ argument, start }) => report(start, argument),
      UnaryExpression({ argument, operator, start }) {
        if (operator === "delete") report(start, argument)
      },
      CallExpression({ callee, start }) {
        if (callee.type !== "MemberExpression" || callee.property.type !== "Identifier") return
        if (changing.has(callee.property.name)) report(start, callee.object)
      },
      TSMappedType({ readonly, start }) {
        if (readonly === "-") found.push(`${path}:${lineAt(start)} -readonly`)
      }
    }).visit(program)
  }
  return found
}

/** Calls of `of.method(…)`, where the method is one of those that change what `of` is. */
const calls = (files: ReadonlyArray<SourceFile>, of: string, methods: ReadonlyArray<string>): ReadonlyArray<string> =>
  files.flatMap(({ path, program }) => {
    const found: Array<string> = []
    new Visitor({
      CallExpression({ callee }) {
        if (callee.type !== "MemberExpression" || callee.property.type !== "Identifier") return
        const { object, property } = callee
        if (endOf(object) === of && methods.includes(property.name)) found.push(`${path} ${property.name}`)
      }
    }).visit(program)
    return found
  })

/** The methods of a class: what only reads it is a getter. */
const changingMethods = (files: ReadonlyArray<SourceFile>, path: string): ReadonlyArray<string> => {
  const found: Array<string> = []
  const file = files.find((one) => one.path === path)
  if (file === undefined) return assert.fail(`${path} is gone`)
  new Visitor({
    MethodDefinition({ key, kind }) {
      if (kind === "method" && key.type === "Identifier") found.push(key.name)
    }
  }).visit(file.program)
  return found
}

const gateway = readSources(".", "src").filter(({ path }) => /^src\/(?:gateway|http)\//.test(path))

describe("a request's state", () => {
  it("is declared so that nobody can assign a member, or change a list", () => {
    const { members, writable } = declared(gateway)
    assert.deepStrictEqual(writable, [])
    assert.includeMembers(
      [...members],
      ["request", "promptTokens", "attempts", "charges", "continuation", "generation"]
    )
  })

  it("is changed nowhere", () => {
    assert.deepStrictEqual(changes(gateway), [])
  })

  it("has a reservation that only billing changes, and a log that only routing writes while providers are called", () => {
    const held = changingMethods(gateway, "src/gateway/billing/Reservation.ts")
    assert.includeMembers([...held], ["open", "extend", "settle"])
    const holders = calls(gateway, "reservation", held).filter((call) => !billing.test(call))
    assert.deepStrictEqual(holders, [])
    const written = changingMethods(gateway, "src/gateway/routing/AttemptLog.ts")
    assert.includeMembers([...written], ["endCall", "charge", "continued"])
    const writers = calls(gateway, "log", written).filter((call) => !routing.test(call))
    // Chat knows when the client leaves, and which members a cached answer was given without.
    assert.deepStrictEqual([...new Set(writers)].toSorted(), [
      "src/gateway/chat/Completion.ts clientLeft",
      "src/gateway/chat/Completion.ts leftOut"
    ])
  })

  it("would be found to be changed", () => {
    const state = parseSource(
      "src/gateway/request/Plan.ts",
      `export interface Plan { readonly model: string; tokens: number; readonly list: Array<string>; all(): void }`
    )
    assert.deepStrictEqual(declared([state]).writable, [
      "src/gateway/request/Plan.ts:1 tokens",
      "src/gateway/request/Plan.ts:1 Array",
      "src/gateway/request/Plan.ts:1 method"
    ])
    const text = `plan.model = "x"\nplan.tokens += 1\nplan.tokens++\ndelete plan.model\nplan.list.push("x")\nother.name = 1\nsent.plan.model = "x"`
    assert.deepStrictEqual(
      changes([parseSource("src/gateway/chat/A.ts", text)]),
      ["1 model", "2 tokens", "3 tokens", "4 model", "5 list", "7 model"].map(
        (place) => `src/gateway/chat/A.ts:${place}`
      )
    )
  })
})
