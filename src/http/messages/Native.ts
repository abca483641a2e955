/** A request of the Messages API in its own form, for providers that speak it. */
import { Predicate } from "effect"
import { type Members } from "../../domain/Chat.ts"
import { type Inexpressible, type NativeRequest } from "../../domain/Native.ts"
import { blocksIn, membersOf, textOf } from "./Blocks.ts"

export const nativeRequest = (
  body: Members,
  headers: Readonly<Record<string, string | undefined>>,
  only: Inexpressible | null
): NativeRequest => ({
  dialect: "anthropic",
  body,
  headers: vendorHeaders(headers),
  only,
  accountObjects: accountObjectIn(body),
  models: fallbackModels(body["fallbacks"])
})

/** All of the vendor's headers, because each release of its clients has new ones. */
const vendorHeaders = (headers: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> => {
  const kept: Record<string, string> = {}
  for (const name in headers) {
    const value = headers[name]
    if (value !== undefined && name.startsWith("anthropic-") && name !== "anthropic-version") kept[name] = value
  }
  return kept
}

const fallbackModels = (fallbacks: unknown): ReadonlyArray<string> =>
  (Array.isArray(fallbacks) ? fallbacks : []).flatMap((each: unknown) => {
    const name = Predicate.isObject(each) ? (each as Members)["model"] : each
    return typeof name === "string" ? [name] : []
  })

/** The first member that names a container, a skill or a file of the vendor's account; or null. */
const accountObjectIn = (body: Members): string | null => {
  const { container } = body
  if (typeof container === "string") return "container"
  const { id, skills } = membersOf(container)
  if (typeof id === "string") return "container.id"
  const skill = blocksIn(skills).findIndex(({ type }) => type !== "anthropic")
  if (skill >= 0) return `container.skills.${skill}`
  return fileIn(body["system"], "system") ?? fileInMessages(body["messages"])
}

const fileInMessages = (messages: unknown): string | null => {
  for (const [at, { content }] of blocksIn(messages).entries()) {
    const found = fileIn(content, `messages.${at}.content`)
    if (found !== null) return found
  }
  return null
}

/**
 * A file that a block refers to. Blocks with results of the vendor's own tools name files without
 * asking for them.
 */
const fileIn = (content: unknown, place: string): string | null => {
  for (const [at, block] of blocksIn(content).entries()) {
    const type = textOf(block["type"])
    if (type.endsWith("_tool_result")) continue
    const source = membersOf(block["source"])
    if (typeof block["file_id"] === "string") return `${place}.${at}.file_id`
    if (source["type"] === "file" || typeof source["file_id"] === "string") return `${place}.${at}.source`
    const nested =
      type === "tool_use" || type === "server_tool_use"
        ? null
        : (fileIn(block["content"], `${place}.${at}.content`) ??
          fileIn(source["content"], `${place}.${at}.source.content`))
    if (nested !== null) return nested
  }
  return null
}
