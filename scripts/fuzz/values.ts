/** Random values of a JSON schema, and hostile values. */
import { type Random } from "./random.ts"
import { resolved, type Schema } from "./document.ts"

const hostileTexts = [
  "",
  " ",
  "\u0000",
  "a\u0000b",
  "\ud800",
  "\udc00x",
  "\u202e",
  "\ufeff",
  "😀".repeat(150),
  "e\u0301".repeat(50),
  "__proto__",
  "constructor",
  "../../etc/passwd",
  "%00%2e%2e",
  "' or 1=1 --",
  "${jndi:ldap://x}",
  "[EMAIL_1]",
  "jane@example.com 4111 1111 1111 1111",
  "<|endoftext|>",
  "data: [DONE]\n\n",
  "2027-02-30T00:00:00Z",
  "+275760-09-13T00:00:00Z",
  "0x10",
  "1e999",
  "NaN",
  "-0",
  "a".repeat(5_000),
  "\n\r\t",
  "null"
]
const hostileNumbers = [
  0,
  -0,
  -1,
  1,
  0.1,
  1e-12,
  1e-7,
  0.5,
  2,
  2.0000001,
  100,
  101,
  1_001,
  4_294_967_296,
  2 ** 53 - 1,
  2 ** 53,
  1e15,
  1e18,
  1e100,
  1.7976931348623157e308,
  -(2 ** 53),
  -1e308,
  5e-324
]

const nested = (random: Random): unknown => {
  let value: unknown = random.pick(hostileTexts)
  const depth = random.pick([1, 5, 100, 140])
  for (let level = 0; level < depth; level++) value = random.chance(0.5) ? [value] : { a: value }
  return value
}

export const hostileText = (random: Random): string => random.pick(hostileTexts)

export const hostile = (random: Random): unknown => {
  switch (random.below(8)) {
    case 0:
    case 1:
      return hostileText(random)
    case 2:
    case 3:
      return random.pick(hostileNumbers)
    case 4:
      return random.pick([null, true, false])
    case 5:
      return random.pick<unknown>([[], {}, [[]], [null], { "": null }, { ["__proto__"]: 1 }])
    case 6:
      return Array.from({ length: random.pick([1, 3, 20, 300]) }, () =>
        random.pick<unknown>([...hostileTexts, 1, null])
      )
    default:
      return nested(random)
  }
}

const words = ["hello", "write a poem", "mock/echo", "mock/lorem", "mock/embed", "free", "pro", "day", "user", "text"]

const textOf = (random: Random, { format, pattern }: Schema): string => {
  if (format === "date-time") return random.pick(["2026-01-01T00:00:00Z", "2027-06-30T12:00:00.5+02:00"])
  const prefix = /^\^(gen|key|usr|dlv|ses|chl)_/.exec(pattern ?? "")?.[1]
  if (prefix !== undefined)
    return `${prefix}_${random
      .below(2 ** 32)
      .toString(16)
      .padStart(32, "0")}`
  return random.pick(words)
}

/**
 * A value that mostly satisfies the schema. `wildness`: the chance, at each place, of a hostile
 * one.
 */
export const valueOf = (random: Random, schema: Schema, wildness: number, depth = 0): unknown => {
  if (random.chance(wildness)) return hostile(random)
  const found = resolved(schema)
  const alternatives = found.anyOf ?? found.oneOf
  if (alternatives !== undefined) return valueOf(random, random.pick(alternatives), wildness, depth + 1)
  if (found.enum !== undefined) return random.pick(found.enum)
  switch (found.type) {
    case "string":
      return textOf(random, found)
    case "boolean":
      return random.chance(0.5)
    case "integer":
      return Math.max(found.minimum ?? 0, Math.min(found.maximum ?? 100, 1 + random.below(100)))
    case "number":
      return Math.max(found.minimum ?? 0, Math.min(found.maximum ?? 100, random.next() * 3))
    case "null":
      return null
    case "array":
      return Array.from({ length: 1 + random.below(3) }, () => valueOf(random, found.items ?? {}, wildness, depth + 1))
    case "object":
      return objectOf(random, found, wildness, depth)
    default:
      return depth > 4 ? "text" : hostile(random)
  }
}

const objectOf = (random: Random, { properties = {}, required = [] }: Schema, wildness: number, depth: number) => {
  const made: Record<string, unknown> = {}
  for (const [name, member] of Object.entries(properties)) {
    const isDue = required.includes(name) ? !random.chance(wildness) : random.chance(depth > 3 ? 0.1 : 0.3)
    if (isDue) made[name] = valueOf(random, member, wildness, depth + 1)
  }
  if (random.chance(wildness)) made[hostileText(random)] = hostile(random)
  return made
}
