/**
 * Puts values back where a reply has their placeholders: exactly, in another case, or with the backslashes of Markdown. Inside of a tool
 * call's arguments a value is written as JSON has it. A placeholder that this request did not give out stays as it is.
 */
import { Predicate } from "effect"
import { escapedForJson } from "./JsonText.ts"
import { type PlaceholderMap } from "./PlaceholderMap.ts"

export interface Restorer {
  readonly text: (text: string) => string
  readonly json: (text: string) => string
  /** The tool's own name. A model that calls no tool of the request may call it what it likes. */
  readonly toolName: (called: string) => string
  /** How much of the end of a text may be the beginning of a placeholder: what to hold back until more comes. */
  readonly openEnd: (text: string) => number
}

const MAX_DIGITS = 9

/** The label as Markdown may have it: `CREDIT\_CARD`. */
const marked = (label: string): string => label.replaceAll("_", "\\\\?_")

export const makeRestorer = (vault: PlaceholderMap): Restorer => {
  const { labels } = vault
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
    text.includes("[") ? text.replaceAll(inText, (found) => vault.value(found) ?? found) : text

  return {
    text,
    toolName: (called) => text(vault.toolName(called)),
    json: (text) =>
      text.includes("[")
        ? text.replaceAll(inJson, (found) => {
            const value = vault.value(found)
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

/** What has to stay byte by byte as the provider sent it. */
const opaque = new Set(["id", "signature", "data", "encrypted_content"])

type Members = Readonly<Record<string, unknown>>

/** A call of a tool, or what is said of one in a piece of a stream: its name, its arguments as JSON, all else as text. */
export const restoreCalled = (called: Members, { json, text, toolName }: Restorer): Members => {
  const { arguments: given, name, ...rest } = called
  return {
    ...restoreMembers(rest, text),
    ...(name === undefined ? {} : { name: typeof name === "string" ? toolName(name) : name }),
    ...(given === undefined ? {} : { arguments: typeof given === "string" ? json(given) : restoreDeep(given, text) })
  }
}

/** A tool call with whichever kind of tool it calls. */
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

/** Every string below the members of a message or of a delta, names of members too, but for opaque ones. */
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
