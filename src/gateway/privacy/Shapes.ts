/**
 * The lists of KeptPlaces.ts and KeptNativePlaces.ts as trees that are walked together with a
 * request. A node describes a member and the members below it.
 */
import { type NativeDialect } from "../../domain/Native.ts"
import { nativePlaces } from "./KeptNativePlaces.ts"
import { chatPlaces, type KeptForm, type Places } from "./KeptPlaces.ts"

export interface Shape {
  readonly members: ReadonlyMap<string, Shape>
  readonly items: Shape | undefined
  readonly keeps: KeptForm | undefined
  readonly isToolName: boolean
  readonly json: "yes" | "maybe" | undefined
}

interface Growing {
  readonly members: Map<string, Growing>
  items: Growing | undefined
  keeps: KeptForm | undefined
  isToolName: boolean
  json: "yes" | "maybe" | undefined
}

const grow = (): Growing => ({
  members: new Map(),
  items: undefined,
  keeps: undefined,
  isToolName: false,
  json: undefined
})

const memberOf = (shape: Growing, name: string): Growing => {
  const known = shape.members.get(name)
  if (known !== undefined) return known
  const made = grow()
  shape.members.set(name, made)
  return made
}

/** The shape at a path such as `messages[].content[].text`. */
const at = (root: Growing, path: string): Growing =>
  path.split(".").reduce((shape, segment) => {
    const [name = "", ...lists] = segment.split("[]")
    return lists.reduce((list) => (list.items ??= grow()), memberOf(shape, name))
  }, root)

const build = ({ json, kept, likelyJson, part, toolNames }: Places): Shape => {
  const root = grow()
  for (const { form, paths } of kept) for (const path of paths) at(root, path).keeps = form
  for (const path of toolNames) at(root, path).isToolName = true
  for (const path of json) at(root, path).json = "yes"
  for (const path of likelyJson) at(root, path).json = "maybe"
  if (part !== null) memberOf(at(root, part), "content").items = at(root, part)
  return root
}

export const requestShape: Shape = build(chatPlaces)

/** Of requests in the form of their own API. */
export const nativeShapes: Readonly<Record<NativeDialect, Shape>> = {
  anthropic: build(nativePlaces.anthropic),
  responses: build(nativePlaces.responses)
}

/** Lower-case words. No vendor's key and no meaningful number has this form. */
const word = /^[a-z]{1,20}(?:_[a-z0-9]{1,12}){0,5}$/
const id = /^[\w.:|/+=-]{1,512}$/

export const isWord = (text: string): boolean => word.test(text)
export const isId = (text: string): boolean => id.test(text)

const bounds = new Set([
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "minProperties",
  "maxProperties",
  "minContains",
  "maxContains"
])

/** Whether a number of this name is a limit in a schema. */
export const isBound = (name: string): boolean => bounds.has(name)

const dataUrl = /^data:[\w.+-]{1,64}\/[\w.+-]{1,96}(?:;[\w.+=-]{1,64}){0,4};base64,/i
/** A shorter text may be a number or a word, and is searched. */
const SHORTEST_BYTES = 64

/** Where the base64 of a text begins if the text may be bytes; null if it is not. */
export const bytesFrom = (text: string): number | null => {
  const head = dataUrl.exec(text.slice(0, 512))?.[0]
  return head !== undefined ? head.length : text.length < SHORTEST_BYTES ? null : 0
}

/** A character that occurs in neither alphabet of base64. */
export const foreign = /[^A-Za-z0-9+/=_\r\n-]/
