/**
 * Tools that a conversation loads later. A deferred tool is shown to a model only once a result of
 * a search refers to it, and messages of the role `system` add and remove tools. A chat completion
 * has one list of tools, so the tools that are loaded by the end stand in it, and the blocks that
 * loaded them become texts.
 */
import { type MessageParam, type MessagesRequest } from "../../api/Messages.ts"
import { type Members } from "../../domain/Chat.ts"
import { blocksIn, membersOf, textOf } from "./Blocks.ts"

type Conversation = Pick<MessagesRequest, "messages" | "tools">

const loading = new Set<unknown>(["tool_reference", "tool_addition", "tool_removal"])

/** The conversation as it is if it loads no tools. */
export const withLoadedTools = <Body extends Conversation>(body: Body): Body => {
  const tools = body.tools ?? []
  const isDeferred = tools.some(({ defer_loading }) => defer_loading === true)
  if (!isDeferred && !body.messages.some(({ content, role }) => role === "system" && loads(content))) return body
  const changes = body.messages.flatMap(({ content }) => blocksIn(content)).flatMap(changesOf)
  const last = new Map(changes.map((change) => [change.name, change]))
  const known = new Set(tools.map(({ name }) => name))
  const kept = tools.filter(({ defer_loading, name }) => last.get(textOf(name))?.isLoaded ?? defer_loading !== true)
  const added = [...last.values()].flatMap(({ definition, isLoaded, name }) =>
    isLoaded && definition !== null && !known.has(name) ? [definition] : []
  )
  return { ...body, tools: [...kept, ...added], messages: body.messages.map(toldMessage) }
}

const loads = (content: MessageParam["content"]): boolean => blocksIn(content).some(({ type }) => loading.has(type))

interface Change {
  readonly name: string
  readonly isLoaded: boolean
  /** A tool that is not in the request's list. */
  readonly definition: Members | null
}

const changesOf = (block: Members): ReadonlyArray<Change> => {
  switch (block["type"]) {
    case "tool_result":
      return blocksIn(block["content"]).flatMap(changesOf)
    case "tool_reference":
      return [{ name: textOf(block["tool_name"]), isLoaded: true, definition: null }]
    case "tool_addition":
    case "tool_removal": {
      const { definition, name } = membersOf(block["tool"])
      const defined = definition === undefined ? null : membersOf(definition)
      return [
        {
          name: textOf(defined?.["name"] ?? name),
          isLoaded: block["type"] === "tool_addition",
          definition: defined
        }
      ]
    }
    default:
      return []
  }
}

const toldMessage = (message: MessageParam): MessageParam =>
  typeof message.content === "string" ? message : { ...message, content: blocksIn(message.content).map(toldBlock) }

const toldBlock = (block: Members): Members => {
  if (block["type"] === "tool_result" && loads(blocksIn(block["content"]))) {
    return { ...block, content: blocksIn(block["content"]).map(toldBlock) }
  }
  const [change] = loading.has(block["type"]) ? changesOf(block) : []
  return change === undefined
    ? block
    : { type: "text", text: `The tool ${change.name} is ${change.isLoaded ? "available" : "no longer available"}.` }
}
