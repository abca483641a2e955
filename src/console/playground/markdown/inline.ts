/**
 * Markdown inside a line: emphasis, code, links. It takes linear time for any text: texts and
 * depths beyond the limits stay as they are. Only addresses of the web and of mail become links.
 * Pictures become links too, so that an answer makes the browser load nothing. HTML is text.
 */

export type Inline =
  | string
  | { readonly kind: "em" | "strong" | "del"; readonly children: ReadonlyArray<Inline> }
  | { readonly kind: "code"; readonly text: string }
  | { readonly kind: "link"; readonly href: string; readonly children: ReadonlyArray<Inline> }

/** UTF-16 code units of one block that are parsed. The rest is plain text. */
const MOST_CHARACTERS = 20_000
/** Open emphases and brackets. An older one becomes text. */
const MOST_OPEN = 32
/** A longer run of one sign is text. */
const LONGEST_RUN = 3

const plain = /[^\\`*_~[\]!<&hm]+/y
const escaped = /\\([!-/:-@[-`{-~])/y
const run = /([*_~])\1*/y
const ticks = /`+/y
const destination =
  /\(\s{0,4}(?:<([^<>\n]{0,2000})>|((?:[^\s()]|\([^\s()]{0,500}\)){0,2000}))(?:\s{1,4}(?:"[^"]{0,500}"|'[^']{0,500}'))?\s{0,4}\)/y
const bracketed = /<((?:https?:\/\/|mailto:)[^\s<>]{1,2000})>/y
const bare = /(?:https?:\/\/|mailto:)[^\s<>\]"`\\]{1,2000}/y
const lineBreak = /<br {0,2}\/?>/iy
const entity = /&(amp|lt|gt|quot|#39|nbsp);/y
const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'", nbsp: "\u00a0" }

const protocols = new Set(["http:", "https:", "mailto:"])

/** The address if a page may link to it. */
const safeHref = (text: string): string | undefined =>
  URL.canParse(text) && protocols.has(new URL(text).protocol) ? new URL(text).href : undefined

interface Opener {
  readonly sign: string
  readonly count: number
  /** The position of its own text among the nodes. */
  readonly at: number
}

const isSpace = (character: string | undefined): boolean => character === undefined || /\s/.test(character)
const isPunctuation = (character: string | undefined): boolean =>
  character !== undefined && /[\p{P}\p{S}]/u.test(character)

class Parser {
  private readonly nodes: Array<Inline> = []
  private readonly open: Array<Opener> = []
  /** Lengths of runs of backticks that close nothing in the rest of the text. */
  private readonly unclosed = new Set<number>()
  private at = 0
  private readonly text: string

  constructor(text: string) {
    this.text = text
  }

  parse(): ReadonlyArray<Inline> {
    while (this.at < this.text.length) this.step()
    return this.nodes
  }

  private take(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.at
    const found = pattern.exec(this.text)
    if (found !== null) this.at += found[0].length
    return found
  }

  /** Adds to the text before, unless that is the sign of an opener. */
  private say(text: string): void {
    const before = this.nodes.at(-1)
    if (typeof before !== "string" || this.open.at(-1)?.at === this.nodes.length - 1) this.nodes.push(text)
    else this.nodes[this.nodes.length - 1] = before + text
  }

  private step(): void {
    const words = this.take(plain)
    if (words !== null) return this.say(words[0])
    const literal = this.take(escaped)
    if (literal !== null) return this.say(literal[1] ?? "")
    const sign = this.text[this.at] ?? ""
    if (sign === "`") return this.code()
    if (sign === "[") return this.push("[", 1, "[")
    if (sign === "!" && this.text[this.at + 1] === "[") return this.push("![", 1, "![")
    if (sign === "]") return this.close()
    const delimiters = this.take(run)
    if (delimiters !== null) return this.emphasis(delimiters[0])
    const link = this.take(bracketed) ?? (isWordBefore(this.text, this.at) ? null : this.address())
    if (link !== null) return this.link(link[1] ?? link[0])
    if (this.take(lineBreak) !== null) return this.say("\n")
    const named = this.take(entity)
    if (named !== null) return this.say(entities[named[1] ?? ""] ?? "")
    this.at++
    this.say(sign)
  }

  private push(sign: string, count: number, text: string): void {
    if (this.open.length === MOST_OPEN) this.open.shift()
    this.open.push({ sign, count, at: this.nodes.length })
    this.nodes.push(text)
    if (sign.endsWith("[")) this.at += sign.length
  }

  private code(): void {
    const opening = this.take(ticks)?.[0] ?? ""
    const end = this.unclosed.has(opening.length) ? -1 : closingTicks(this.text, this.at, opening.length)
    if (end < 0) {
      this.unclosed.add(opening.length)
      return this.say(opening)
    }
    const inside = this.text.slice(this.at, end)
    const text = /^ .*\S.* $/s.test(inside) ? inside.slice(1, -1) : inside
    this.nodes.push({ kind: "code", text: text.replaceAll("\n", " ") })
    this.at = end + opening.length
  }

  /** An address without brackets. The signs of the sentence after it are not part of it. */
  private address(): readonly [string] | null {
    const found = this.take(bare)
    if (found === null) return null
    const text = found[0].replace(found[0].includes("(") ? /[.,:;!?'*_~\]]+$/ : /[.,:;!?'*_~\])]+$/, "")
    this.at -= found[0].length - text.length
    return [text]
  }

  private link(text: string): void {
    const href = safeHref(text)
    if (href === undefined) this.say(text)
    else this.nodes.push({ kind: "link", href, children: [text.replace(/^mailto:/, "")] })
  }

  /** `]`: the end of a link or of a picture, if an address follows. */
  private close(): void {
    this.at++
    const index = this.open.findLastIndex(({ sign }) => sign.endsWith("["))
    const opener = this.open[index]
    if (opener === undefined) return this.say("]")
    const found = this.take(destination)
    this.open.length = index
    if (found === null) return this.say("]")
    const children = this.nodes.splice(opener.at).slice(1)
    const href = safeHref(found[1] ?? found[2] ?? "")
    if (href === undefined) return void this.nodes.push(...children)
    const isPicture = opener.sign === "!["
    const shown: ReadonlyArray<Inline> =
      children.length === 0 ? [href] : isPicture ? ["Image: ", ...children] : children
    this.nodes.push({ kind: "link", href, children: shown.flatMap(withoutLinks) })
  }

  private emphasis(delimiters: string): void {
    const sign = delimiters[0] ?? ""
    const before = this.text[this.at - delimiters.length - 1]
    const after = this.text[this.at]
    const opens = !isSpace(after) && (!isPunctuation(after) || isSpace(before) || isPunctuation(before))
    const closes = !isSpace(before) && (!isPunctuation(before) || isSpace(after) || isPunctuation(after))
    const isWord = sign === "_"
    const mayOpen = opens && (!isWord || !closes || isPunctuation(before))
    const mayClose = closes && (!isWord || !opens || isPunctuation(after))
    let left = delimiters.length
    if (left > LONGEST_RUN || (sign === "~" && left !== 2)) return this.say(delimiters)
    while (left > 0) {
      const index = mayClose ? this.open.findLastIndex((opener) => opener.sign === sign) : -1
      const opener = this.open[index]
      if (opener === undefined) break
      const used = opener.count >= 2 && left >= 2 ? 2 : 1
      this.open.length = index
      const children = this.nodes.splice(opener.at).slice(1)
      const rest = opener.count - used
      if (rest > 0) {
        this.open.push({ sign, count: rest, at: this.nodes.length })
        this.nodes.push(sign.repeat(rest))
      }
      this.nodes.push({ kind: sign === "~" ? "del" : used === 2 ? "strong" : "em", children })
      left -= used
    }
    if (left === 0) return
    if (mayOpen) this.push(sign, left, sign.repeat(left))
    else this.say(sign.repeat(left))
  }
}

const isWordBefore = (text: string, at: number): boolean => /[\p{L}\p{N}]/u.test(text[at - 1] ?? "")

const closingTicks = (text: string, from: number, length: number): number => {
  for (const { 0: found, index } of text.slice(from).matchAll(/`+/g)) if (found.length === length) return from + index
  return -1
}

/** Links do not contain links. */
const withoutLinks = (node: Inline): ReadonlyArray<Inline> => {
  if (typeof node === "string" || node.kind === "code") return [node]
  return node.kind === "link" ? node.children : [{ ...node, children: node.children.flatMap(withoutLinks) }]
}

export const inlineOf = (text: string): ReadonlyArray<Inline> => {
  const parsed = new Parser(text.slice(0, MOST_CHARACTERS)).parse()
  return text.length <= MOST_CHARACTERS ? parsed : [...parsed, text.slice(MOST_CHARACTERS)]
}
