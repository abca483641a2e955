/**
 * The tools of a request by the names under which providers see them. A provider's name is at most
 * 64 of `A-Za-z0-9_-`; a tool of a namespace has the namespace in it. No two tools share a name. A
 * tool keeps its name from turn to turn, because tools are named in the order in which they came.
 */
import { hash } from "node:crypto"

/** A tool as the client declared it. */
export type DeclaredTool =
  | { readonly kind: "function"; readonly name: string; readonly namespace?: string }
  | { readonly kind: "custom"; readonly name: string; readonly namespace?: string }
  | { readonly kind: "tool_search" }

/** The longest name of a tool or of a namespace that a client may use. The vendor's is shorter. */
export const LONGEST_DECLARED = 256

const LONGEST_NAME = 64
const validName = /^[\w-]{1,64}$/
/** Hexadecimal digits of the hash behind a shortened name. */
const HASH_DIGITS = 12

/** The name of the function that searches for tools, unless the client has one of this name. */
const TOOL_SEARCH = "tool_search"

export class ToolNames {
  /** By the provider's name. */
  readonly #declared = new Map<string, DeclaredTool>()
  /** The provider's name, by what the client calls the tool. */
  readonly #names = new Map<string, string>()

  /** The provider's name of a tool: the one that it has, or a new one. */
  nameOf(tool: DeclaredTool): string {
    const own = keyOf(tool)
    const known = this.#names.get(own)
    if (known !== undefined) return known
    const name = this.#free(tool, own)
    this.#names.set(own, name)
    this.#declared.set(name, tool)
    return name
  }

  /** What the client declared. A name that it did not declare is a function's. */
  declared(name: string): DeclaredTool {
    return this.#declared.get(name) ?? { kind: "function", name }
  }

  #free(tool: DeclaredTool, own: string): string {
    const wanted = wantedName(tool)
    if (validName.test(wanted) && !this.#declared.has(wanted)) return wanted
    const begin = wanted.slice(0, LONGEST_NAME - HASH_DIGITS - 1).replace(/[^\w-]/g, "_")
    for (let attempt = 0; ; attempt++) {
      const mark = hash("sha256", `${attempt}:${own}`, "hex").slice(0, HASH_DIGITS)
      const name = `${begin}_${mark}`
      if (!this.#declared.has(name)) return name
    }
  }
}

const wantedName = (tool: DeclaredTool): string => {
  if (tool.kind === "tool_search") return TOOL_SEARCH
  return tool.namespace === undefined ? tool.name : `${tool.namespace}__${tool.name}`
}

/** A call tells a tool's kind, namespace and name. */
const keyOf = (tool: DeclaredTool): string => {
  if (tool.kind === "tool_search") return tool.kind
  const { kind, name, namespace } = tool
  return namespace === undefined ? `${kind}::${name}` : `${kind}:${namespace.length}:${namespace}:${name}`
}
