/**
 * Replaces the placeholders in a reply by their values: exact, in another case, or with Markdown's
 * backslashes. In the arguments of a tool call a value is escaped for JSON. Placeholders that this
 * request did not assign are left.
 */
import { Predicate } from "effect"
import { escapedForJson } from "../JsonText.ts"
import { type PlaceholderMap } from "../PlaceholderMap.ts"

export interface Restorer {
  readonly text: (text: string) => string
  readonly json: (text: string) => string
  /**
   * The original name of a tool. A name that is not one of the request's tools is treated as text.
   */
  readonly toolName: (called: string) => string
  /**
   * Length of the end of a text that may begin a placeholder, to be held back until more arrives.
   */
  readonly openEnd: (text: string) => number
}

const MAX_DIGITS = 9

/** The label as Markdown may escape it: `CREDIT\_CARD`. */
const marked = (label: string): string => label.replaceAll("_", "\\\\?_")

export const makeRestorer = (placeholders: PlaceholderMap): Restorer => {
  const { labels } = placeholders
  const alternatives = labels.map(marked).join("|")
  const inText = new RegExp(`\\\\?\\[(?:${alternatives})\\\\?_\\d{1,${MAX_DIGITS}}\\\\?\\]`, "gi")
  const inJson = new RegExp(`\\[(?:${labels.join("|")})_\\d{1,${MAX_DIGITS}}\\]`, "gi")
  // Brackets, backslashes and digits around the longest label.
  const longest = labels.reduce((length, label) => Math.max(length, label.length), 0) * 2 + MAX_DIGITS + 8

  const isBeginning = (tail: string): boolean => {
    const plain = tail.replaceAll("\\", "").toUpperCase()
    return labels.some((label) => {
      const head = `[${label}_`
      return plain.length <= head.length ? head.startsWith(plain) : isNumbered(plain, head)
    })
  }

  const text = (text: string): string =>
    text.includes("[") ? text.replaceAll(inText, (found) => placeholders.value(found) ?? found) : text

  return {
    text,
    toolName: (called) => text(placeholders.toolName(called)),
    json: (text) =>
      text.includes("[")
        ? text.replaceAll(inJson, (found) => {
            const value = placeholders.value(found)
            return value === undefined ? found : escapedForJson(value)
          })
        : text,
    openEnd: (text) => {
      const tail = text.slice(-longest)
      const open = tail.lastIndexOf("[")
      if (open === -1) return tail.endsWith("\\") ? 1 : 0
      const escaped = tail[open - 1] === "\\" ? 1 : 0
      if (isBeginning(tail.slice(open))) return tail.length - open + escaped
      return tail.endsWith("\\") ? 1 : 0
    }
  }
}

const isNumbered = (plain: string, head: string): boolean =>
  plain.startsWith(head) && plain.length - head.length <= MAX_DIGITS && /^\d+$/.test(plain.slice(head.length))

/** Members whose bytes must stay as the provider sent them. */
export const opaque = new Set(["id", "signature", "data", "encrypted_content", "encrypted_index"])

type Members = Readonly<Record<string, unknown>>

/**
 * Restores a tool call or a streamed piece of one: its name, its arguments as JSON, and everything
 * else as text.
 */
export const restoreCalled = (called: Members, { json, text, toolName }: Restorer): Members => {
  const { arguments: given, name, ...rest } = called
  return {
    ...restoreMembers(rest, text),
    ...(name === undefined ? {} : { name: typeof name === "string" ? toolName(name) : name }),
    ...(given === undefined ? {} : { arguments: typeof given === "string" ? json(given) : restoreDeep(given, text) })
  }
}

/** Restores a tool call of any kind of tool. */
export const restoreCall = (call: Members, restorer: Restorer): Members => {
  const { custom, function: called, ...rest } = call
  return {
    ...restoreMembers(rest, restorer.text),
    ...(called === undefined
      ? {}
      : { function: Predicate.isObject(called) ? restoreCalled(called, restorer) : called }),
    ...(custom === undefined ? {} : { custom: Predicate.isObject(custom) ? restoreCalled(custom, restorer) : custom })
  }
}

/**
 * Restores every string below the members of a message or delta, including member names, except
 * opaque ones.
 */
export const restoreMembers = (members: Members, restore: (text: string) => string): Members =>
  Object.fromEntries(
    Object.entries(members).map(([name, member]) => [
      restore(name),
      opaque.has(name) ? member : restoreDeep(member, restore)
    ])
  )

const restoreDeep = (value: unknown, restore: (text: string) => string): unknown => {
  if (typeof value === "string") return restore(value)
  if (Array.isArray(value)) return value.map((item: unknown) => restoreDeep(item, restore))
  return Predicate.isObject(value) ? restoreMembers(value, restore) : value
}
