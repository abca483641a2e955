/**
 * Tools of the Responses API as functions of a chat completion. A namespace's tools have its name
 * in theirs. A custom tool takes one text, and its grammar is told in the description. A search for
 * tools is a function, and the tools that it found are added behind the others. Tools that OpenAI
 * runs or defines need a provider of this API.
 */
import { Predicate, Result } from "effect"
import { type Members } from "../../domain/Chat.ts"
import { blocksIn, kindOf, membersOf, type Read, refused, textOf } from "../messages/Blocks.ts"
import { type Notes } from "./Notes.ts"
import { type DeclaredTool, LONGEST_DECLARED, ToolNames } from "./ToolNames.ts"

/** Most tools of a request, those of namespaces and those that were found counted. */
export const MOST_TOOLS = 1_024

/** OpenAI's name of the namespace in which tools without one are. */
const DEFAULT_NAMESPACE = "functions"

const searches = new Set(["web_search", "web_search_preview"])
const isSearch = ({ type }: Members): boolean =>
  typeof type === "string" && searches.has(type.replace(/_\d{4}_\d{2}_\d{2}$/, ""))

const isClientSearch = ({ execution, type }: Members): boolean => type === "tool_search" && execution === "client"

export const isName = (name: unknown): name is string =>
  typeof name === "string" && name !== "" && name.length <= LONGEST_DECLARED
export const nameFault = `a name of 1 to ${LONGEST_DECLARED} characters is required.`

/** What a call or a choice names. */
export const declaredTool = (kind: "function" | "custom", name: string, namespace: unknown): DeclaredTool =>
  typeof namespace === "string" && namespace !== "" && namespace !== DEFAULT_NAMESPACE
    ? { kind, name, namespace }
    : { kind, name }

export class Tools {
  readonly names = new ToolNames()
  readonly #notes: Notes
  /** The functions, by name. */
  readonly #functions = new Map<string, Members>()
  /** Searches of the web that were declared, by place. */
  readonly #searches: Array<string> = []
  /** The client searches for tools itself. Those that it loads late are then unknown till found. */
  #isSearched = false

  constructor(notes: Notes) {
    this.#notes = notes
  }

  get functions(): ReadonlyArray<Members> {
    return [...this.#functions.values()]
  }

  /** Adds tools, and returns the names of their functions. A tool that is known keeps its form. */
  add(tools: unknown, place: string): Read<ReadonlyArray<string>> {
    this.#isSearched ||= blocksIn(tools).some(isClientSearch)
    return Result.map(Result.all(blocksIn(tools).map((tool, at) => this.#add(tool, `${place}.${at}`))), (names) =>
      names.flat()
    )
  }

  #add(tool: Members, place: string): Read<ReadonlyArray<string>> {
    switch (tool["type"]) {
      case "function":
      case "custom":
        return this.#addNamed(tool, place, undefined, "")
      case "namespace": {
        const { description, name, tools } = tool
        if (!isName(name)) return refused(`${place}.name`, nameFault)
        return Result.map(
          Result.all(
            blocksIn(tools).map((member, at) =>
              // The namespace is described once, to save tokens.
              this.#addNamed(member, `${place}.tools.${at}`, name, at === 0 ? textOf(description) : "")
            )
          ),
          (names) => names.flat()
        )
      }
      case "tool_search":
        if (!isClientSearch(tool)) {
          // All tools are at hand already.
          this.#notes.drop("tools.tool_search")
          return Result.succeed([])
        }
        return this.#put(
          { kind: "tool_search" },
          textOf(tool["description"]),
          { parameters: tool["parameters"] },
          place
        )
      default:
        if (isSearch(tool)) this.#searches.push(place)
        else this.#notes.need(place, `${kindOf(tool)} is a tool of OpenAI's, which`)
        this.#notes.search(tool, place)
        return Result.succeed([])
    }
  }

  #addNamed(tool: Members, place: string, namespace: unknown, before: string): Read<ReadonlyArray<string>> {
    const { defer_loading, name, parameters, strict, type } = tool
    if (!isName(name)) return refused(`${place}.name`, nameFault)
    // A tool that was found is loaded.
    if (defer_loading === true && place.startsWith("tools.")) {
      if (this.#isSearched) return Result.succeed([])
      this.#notes.drop("tools.defer_loading")
    }
    const described = joined(before, textOf(tool["description"]))
    return type === "custom"
      ? this.#put(declaredTool("custom", name, namespace), joined(described, grammarOf(tool)), customInput, place)
      : this.#put(declaredTool("function", name, namespace), described, { parameters, strict }, place)
  }

  #put(
    tool: DeclaredTool,
    description: string,
    { parameters, strict }: Members,
    place: string
  ): Read<ReadonlyArray<string>> {
    const name = this.names.nameOf(tool)
    if (this.#functions.has(name)) return Result.succeed([name])
    if (this.#functions.size === MOST_TOOLS) return refused(place, `a request has at most ${MOST_TOOLS} tools.`)
    this.#functions.set(name, {
      type: "function",
      function: {
        name,
        ...(description === "" ? {} : { description }),
        parameters: membersOf(parameters),
        ...(typeof strict === "boolean" ? { strict } : {})
      }
    })
    return Result.succeed([name])
  }

  /**
   * The members of the request for tools. A search of the web beside other tools is left out, as
   * agents declare it in every request; alone or as the choice it needs a provider of this API.
   */
  members(choice: unknown, parallel: unknown): Read<Members> {
    const functions = this.functions
    const [search] = this.#searches
    if (search !== undefined) {
      if (functions.length > 0 && !(Predicate.isObject(choice) && isSearch(membersOf(choice))))
        this.#notes.drop("tools.web_search")
      else this.#notes.need(search, "a search of the web")
    }
    return Result.map(this.#choiceOf(choice), (chosen) =>
      functions.length === 0
        ? {}
        : {
            tools: functions,
            ...(chosen === null ? {} : { tool_choice: chosen }),
            ...(typeof parallel === "boolean" ? { parallel_tool_calls: parallel } : {})
          }
    )
  }

  #choiceOf(choice: unknown): Read<unknown> {
    if (choice === undefined || choice === null) return Result.succeed(null)
    if (choice === "auto" || choice === "none" || choice === "required") return Result.succeed(choice)
    const given = membersOf(choice)
    const named = this.#namedChoice(given)
    if (named !== null) return Result.succeed(named)
    if (given["type"] === "allowed_tools") {
      const { mode, tools } = given
      const allowed = blocksIn(tools).flatMap((tool, at) => {
        const one = this.#namedChoice(tool)
        if (one === null && !isSearch(tool)) {
          this.#notes.need(`tool_choice.tools.${at}`, `${kindOf(tool)} is a tool of OpenAI's, which`)
        }
        return one ?? []
      })
      return Result.succeed(
        allowed.length === 0
          ? "none"
          : { type: "allowed_tools", allowed_tools: { mode: mode === "required" ? mode : "auto", tools: allowed } }
      )
    }
    if (typeof given["type"] !== "string") {
      return refused("tool_choice", "the choice is auto, none, required, a tool or allowed_tools.")
    }
    if (!isSearch(given)) this.#notes.need("tool_choice", `${kindOf(given)} is a tool of OpenAI's, which`)
    return Result.succeed(null)
  }

  #namedChoice({ name, namespace, type }: Members): Members | null {
    if (type === "tool_search") return chosen(this.names.nameOf({ kind: "tool_search" }))
    if ((type !== "function" && type !== "custom") || !isName(name)) return null
    return chosen(this.names.nameOf(declaredTool(type, name, namespace)))
  }
}

const chosen = (name: string): Members => ({ type: "function", function: { name } })

const joined = (first: string, second: string): string =>
  first === "" || second === "" ? first + second : `${first}\n\n${second}`

/** The parameters of a custom tool, which takes one text. */
const customInput = {
  parameters: {
    type: "object",
    properties: { input: { type: "string", description: "The tool's whole input, as plain text." } },
    required: ["input"],
    additionalProperties: false
  }
}

const grammarOf = ({ format }: Members): string => {
  const { definition, syntax } = membersOf(format)
  return typeof definition === "string" && definition !== ""
    ? `The text in \`input\` must follow this grammar${typeof syntax === "string" ? ` (${syntax})` : ""}:\n${definition}`
    : ""
}
