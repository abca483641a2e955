/** Entries of the settings file as lines of YAML. */

type Scalar = string | number | boolean

/** A model of an entry of `providers`. */
export type ModelLines = {
  readonly id: string
  readonly upstream: string
  readonly context_length?: number
  readonly max_completion_tokens?: number
  readonly embeddings?: boolean
  readonly pricing: Readonly<Record<string, number>>
}

/** An entry of `providers`. */
export interface Entry {
  readonly slug: string
  readonly name?: string
  readonly dialect: string
  readonly base_url: string
  readonly api_key?: string
  readonly data_policy?: Readonly<Record<string, number | boolean>>
  readonly models: ReadonlyArray<ModelLines>
}

/** A plain text where YAML reads it as a text. */
const scalar = (value: Scalar): string => {
  if (typeof value === "number") return decimal(value)
  return typeof value === "string" &&
    (!/^[a-z$][\w${}:/.@+-]*$/i.test(value) ||
      value.endsWith(":") ||
      /^(?:true|false|null|yes|no|on|off|y|n)$/i.test(value))
    ? JSON.stringify(value)
    : String(value)
}

/** Without an exponent. */
const decimal = (value: number): string =>
  Number.isInteger(value) ? String(value) : value.toFixed(12).replace(/0+$/, "")

export const memberLine = (name: string, value: Scalar): string => `${name}: ${scalar(value)}`

/** A dollar sign of a text is no reference. */
export const literal = (text: string): string => text.replaceAll("$", "$$$$")

/** The lines of a list's item. */
export const entryLines = ({ models, ...members }: Entry): ReadonlyArray<string> =>
  itemLines([...memberLines(members), "models:", ...models.flatMap(memberLinesOfItem)])

const memberLinesOfItem = (model: ModelLines): ReadonlyArray<string> =>
  itemLines(memberLines(model)).map((line) => `  ${line}`)

type Value = Scalar | Readonly<Record<string, number | boolean>>

const memberLines = (members: Readonly<Record<string, Value>>): ReadonlyArray<string> =>
  Object.entries(members).map(([name, value]) => {
    if (typeof value !== "object") return memberLine(name, value)
    const inner = Object.entries(value).map(([member, each]) => memberLine(member, each))
    return `${name}: { ${inner.join(", ")} }`
  })

const itemLines = (lines: ReadonlyArray<string>): ReadonlyArray<string> =>
  lines.map((line, at) => (at === 0 ? `- ${line}` : `  ${line}`))
