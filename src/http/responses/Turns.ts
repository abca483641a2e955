/**
 * Items of the Responses API as messages of a chat completion. Adjacent items of the assistant are
 * one message: its thoughts, texts and calls. The outputs of its calls follow it at once, in the
 * order of the calls, wherever they came. An output without its call is the user's text. Ids of
 * items are left out: providers look them up. An item that chat completions lack becomes the text
 * of its JSON, and needs a provider of this API.
 */
import { Result } from "effect"
import { addAll } from "../../domain/runtime/AddAll.ts"
import { type ChatMessage, type Members } from "../../domain/Chat.ts"
import { blocksIn, contentOf, kindOf, type Read, refused, textOf } from "../messages/Blocks.ts"
import { type Notes } from "./Notes.ts"
import { argumentsOf, foreign, partOf, partsOf, textPart } from "./Parts.ts"
import { thoughtsOfItem } from "./Thoughts.ts"
import { declaredTool, isName, nameFault, type Tools } from "./Tools.ts"

interface Call {
  readonly id: string
  readonly called: Members
  output: ReadonlyArray<Members> | null
}

/** An assistant's turn while its items arrive. */
interface Turn {
  readonly texts: Array<Members>
  readonly refusals: Array<string>
  readonly reasoning: Array<string>
  readonly details: Array<Members>
  readonly calls: Array<Call>
  phase: string | null
}

/** Settings that an item changes for what follows it. */
export interface Updates {
  effort: unknown
  format: unknown
}

export interface Conversation {
  readonly messages: ReadonlyArray<ChatMessage>
  readonly updates: Updates
}

type Role = "user" | "system" | "developer"
const roles: ReadonlySet<unknown> = new Set<Role>(["user", "system", "developer"])
const isRole = (role: unknown): role is Role => roles.has(role)

const SEPARATOR = "\n\n"

export const chatMessages = (
  input: ReadonlyArray<Members>,
  place: string,
  tools: Tools,
  notes: Notes
): Read<Conversation> => {
  const turns = new Turns(tools, notes)
  for (let at = 0; at < input.length; at++) {
    const added = turns.add(input[at] ?? {}, `${place}.${at}`)
    if (Result.isFailure(added)) return Result.fail(added.failure)
  }
  return Result.succeed({ messages: turns.messages(), updates: turns.updates })
}

const done: Read<void> = Result.succeed(undefined)

class Turns {
  readonly #tools: Tools
  readonly #notes: Notes
  readonly updates: Updates = { effort: null, format: null }
  readonly #entries: Array<ChatMessage | Turn> = []
  /** The assistant's turn that the next item may join. */
  #open: Turn | null = null
  /** The last call of each id. */
  readonly #calls = new Map<string, Call>()
  #thoughts = 0
  /** What a provider wants back with the call of this id. */
  readonly #ofCalls = new Map<unknown, Members>()

  constructor(tools: Tools, notes: Notes) {
    this.#tools = tools
    this.#notes = notes
  }

  add(item: Members, place: string): Read<void> {
    switch (item["type"] ?? (item["role"] === undefined ? "" : "message")) {
      case "message":
        return this.#message(item, place)
      case "agent_message":
        return this.#say("user", [
          ...textPart(`Message of ${textOf(item["author"])} to ${textOf(item["recipient"])}:`),
          ...partsOf(item["content"], `${place}.content`, this.#notes)
        ])
      case "reasoning":
        return this.#think(item)
      case "function_call":
        return this.#call(item, place, "function", argumentsOf(item["arguments"]))
      case "custom_tool_call":
        return this.#call(item, place, "custom", JSON.stringify({ input: textOf(item["input"]) }))
      case "tool_search_call":
        return this.#searchCall(item, place)
      case "function_call_output":
      case "custom_tool_call_output":
        return this.#output(item, partsOf(item["output"], `${place}.output`, this.#notes))
      case "tool_search_output":
        return Result.flatMap(this.#tools.add(item["tools"], `${place}.tools`), (names) =>
          typeof item["call_id"] === "string" ? this.#output(item, textPart(JSON.stringify({ tools: names }))) : done
        )
      case "additional_tools":
        return Result.map(this.#tools.add(item["tools"], `${place}.tools`), () => undefined)
      case "configuration_update":
        this.updates.effort = membersIn(item, "reasoning")["effort"] ?? this.updates.effort
        this.updates.format = membersIn(item, "text")["format"] ?? this.updates.format
        return done
      case "web_search_call":
        // The answer that it led to follows.
        return done
      case "item_reference":
        return refused(
          place,
          "items are not stored here. Send the item itself instead of a reference. The AI SDK does so with `store: false`."
        )
      default:
        return this.#say("user", foreign(item, `an item of type ${kindOf(item)}`, place, this.#notes))
    }
  }

  messages(): ReadonlyArray<ChatMessage> {
    return this.#entries.flatMap((entry) => ("role" in entry ? [entry] : this.#messagesOf(entry)))
  }

  #message({ content, phase, role }: Members, place: string): Read<void> {
    if (role !== "assistant" && !isRole(role)) {
      return refused(`${place}.role`, "the role is user, assistant, system or developer.")
    }
    if (role !== "assistant") return this.#say(role, partsOf(content, `${place}.content`, this.#notes))
    const said = typeof phase === "string" ? phase : null
    // A message has one phase. Calls stay with the text before them.
    const isOther = this.#open !== null && this.#open.phase !== said && this.#open.texts.length > 0
    if (isOther && this.#open?.calls.length === 0) this.#open = null
    const turn = this.#turn()
    turn.phase ??= said
    if (typeof content === "string") addAll(turn.texts, textPart(content))
    else this.#speak(turn, blocksIn(content), `${place}.content`)
    return done
  }

  #speak(turn: Turn, parts: ReadonlyArray<Members>, place: string): void {
    for (const [at, part] of parts.entries()) {
      if (part["type"] === "refusal") turn.refusals.push(textOf(part["refusal"]))
      else addAll(turn.texts, partOf(part, `${place}.${at}`, this.#notes))
    }
  }

  #say(role: Role, parts: ReadonlyArray<Members>): Read<void> {
    this.#open = null
    if (parts.length > 0) this.#entries.push({ role, content: contentOf(parts) })
    return done
  }

  #turn(): Turn {
    if (this.#open !== null) return this.#open
    const turn = { texts: [], refusals: [], reasoning: [], details: [], calls: [], phase: null }
    this.#entries.push(turn)
    this.#open = turn
    return turn
  }

  #think(item: Members): Read<void> {
    // The parts of an item are known by its id, which some clients leave out.
    const id = typeof item["id"] === "string" ? item["id"] : `rs_${this.#thoughts++}`
    const { details, ofCall, reasoning } = thoughtsOfItem({ ...item, id })
    const turn = this.#turn()
    if (ofCall !== null) this.#ofCalls.set(ofCall.id, ofCall.members)
    if (reasoning !== "") turn.reasoning.push(reasoning)
    for (const detail of details) turn.details.push({ ...detail, index: turn.texts.length + turn.details.length })
    return done
  }

  #call(item: Members, place: string, kind: "function" | "custom", given: string): Read<void> {
    const { call_id, name, namespace } = item
    if (!isName(name)) return refused(`${place}.name`, nameFault)
    return this.#addCall(call_id, place, this.#tools.names.nameOf(declaredTool(kind, name, namespace)), given)
  }

  #searchCall(item: Members, place: string): Read<void> {
    // The vendor's own search has no id. The tools that it found are added.
    return item["execution"] === "client" || typeof item["call_id"] === "string"
      ? this.#addCall(
          item["call_id"],
          place,
          this.#tools.names.nameOf({ kind: "tool_search" }),
          argumentsOf(item["arguments"])
        )
      : done
  }

  #addCall(id: unknown, place: string, name: string, given: string): Read<void> {
    if (typeof id !== "string") return refused(`${place}.call_id`, "a call has an id.")
    const call: Call = { id, called: { name, arguments: given }, output: null }
    this.#calls.set(id, call)
    this.#turn().calls.push(call)
    return done
  }

  #output({ call_id: id }: Members, parts: ReadonlyArray<Members>): Read<void> {
    const call = this.#calls.get(textOf(id))
    if (call?.output !== null) {
      return this.#say("user", [...textPart(`Output of the tool call ${textOf(id)}:`), ...parts])
    }
    call.output = parts
    this.#open = null
    return done
  }

  /** Thoughts alone are left out: providers refuse them. */
  #messagesOf({ calls, details, phase, reasoning, refusals, texts }: Turn): ReadonlyArray<ChatMessage> {
    const refusal = refusals.join(SEPARATOR)
    if (texts.length === 0 && calls.length === 0 && refusal === "") return []
    const message: ChatMessage = {
      role: "assistant",
      content: texts.length === 0 ? null : contentOf(texts),
      ...(refusal === "" ? {} : { refusal }),
      ...(reasoning.length === 0 ? {} : { reasoning: reasoning.join(SEPARATOR) }),
      ...(details.length === 0 ? {} : { reasoning_details: details }),
      ...(calls.length === 0 ? {} : { tool_calls: calls.map((call) => this.#called(call)) }),
      ...(phase === null ? {} : { phase })
    }
    const results = calls.flatMap(({ id, output }): ReadonlyArray<ChatMessage> =>
      output === null ? [] : [{ role: "tool", tool_call_id: id, content: contentOf(output) }]
    )
    return [message, ...results]
  }

  #called({ called, id }: Call): Members {
    return { id, type: "function", function: called, ...this.#ofCalls.get(id) }
  }
}

const membersIn = (item: Members, name: string): Members => {
  const [value] = blocksIn([item[name]])
  return value ?? {}
}
