/**
 * An answer's Markdown as elements. It never becomes HTML: texts are text nodes. While an answer
 * grows, only the block at its end is parsed and drawn again.
 */
import { type ComponentChildren } from "preact"
import { useMemo } from "preact/hooks"
import { Copy } from "../../parts/Copy.tsx"
import { type Block, blocksOf, cellsOf } from "./blocks.ts"
import { type Inline, inlineOf } from "./inline.ts"

/** A longer answer is shown as it is. */
const MOST_CHARACTERS = 500_000
/** Lists and quotes inside each other. Deeper ones are text. */
const DEEPEST = 8

export const Markdown = ({ text }: { readonly text: string }) =>
  text.length > MOST_CHARACTERS ? (
    <p class="plain">{text}</p>
  ) : (
    <div class="markdown">
      <Blocks text={text} depth={0} />
    </div>
  )

interface Nested {
  readonly text: string
  readonly depth: number
}

const Blocks = ({ depth, text }: Nested) => {
  if (depth > DEEPEST) return <p>{text}</p>
  const ranks: Array<number> = []
  return (
    <>
      {blocksOf(text).map((block, index) => {
        // The levels of headings have no gaps, whatever the model wrote.
        if (block.kind === "heading") {
          while ((ranks.at(-1) ?? 0) >= block.level) ranks.pop()
          ranks.push(block.level)
        }
        return <Part key={index} block={block} rank={depth === 0 ? ranks.length : 0} depth={depth} />
      })}
    </>
  )
}

interface PartProps {
  readonly block: Block
  readonly rank: number
  readonly depth: number
}

/** Equal elements are not compared again: a block that did not change costs nothing. */
const Part = ({ block, depth, rank }: PartProps) => useMemo(() => elementOf(block, rank, depth), [block.source, rank])

const headings = ["p", "h3", "h4", "h5", "h6", "h6", "h6"] as const

const elementOf = (block: Block, rank: number, depth: number): ComponentChildren => {
  switch (block.kind) {
    case "paragraph":
      return (
        <p>
          <Line text={block.text} />
        </p>
      )
    case "rest":
      return <p>{block.text}</p>
    case "heading": {
      const Heading = headings[rank] ?? "h6"
      return (
        <Heading class={`heading level${Math.min(block.level, 4)}`}>
          <Line text={block.text} />
        </Heading>
      )
    }
    case "code":
      return <Code language={block.language} text={block.text} />
    case "quote":
      return (
        <blockquote>
          <Blocks text={block.text} depth={depth + 1} />
        </blockquote>
      )
    case "list": {
      const items = block.items.map((item, index) => <Item key={index} text={item} depth={depth + 1} />)
      return block.start === null ? <ul>{items}</ul> : <ol start={block.start}>{items}</ol>
    }
    case "table":
      return <Grid head={block.head} rows={block.rows} />
    case "rule":
      return <hr />
  }
}

const boxes: Readonly<Record<string, string>> = { " ": "☐", x: "☑", X: "☑" }

const Item = ({ depth, text }: Nested) =>
  useMemo(
    () => (
      <li>
        <Blocks text={text.replace(/^\[([ xX])\](?= )/, (_, mark: string) => boxes[mark] ?? "")} depth={depth} />
      </li>
    ),
    [text]
  )

const Code = ({ language, text }: { readonly language: string; readonly text: string }) => (
  <div class="code-block">
    <div class="code-head">
      <span>{language}</span>
      <Copy text={text} label={`Copy the code${language === "" ? "" : `, ${language}`}`} />
    </div>
    <pre tabIndex={0}>
      <code>{text}</code>
    </pre>
  </div>
)

interface GridProps {
  readonly head: ReadonlyArray<string>
  readonly rows: ReadonlyArray<string>
}

const Grid = ({ head, rows }: GridProps) => (
  <div class="grid-frame" tabIndex={0}>
    <table>
      <thead>
        <tr>
          {head.map((cell, index) => (
            <th key={index} scope="col">
              <Line text={cell} />
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, index) => (
          <Row key={index} text={row} />
        ))}
      </tbody>
    </table>
  </div>
)

const Row = ({ text }: { readonly text: string }) =>
  useMemo(
    () => (
      <tr>
        {cellsOf(text).map((cell, index) => (
          <td key={index}>
            <Line text={cell} />
          </td>
        ))}
      </tr>
    ),
    [text]
  )

const Line = ({ text }: { readonly text: string }) => useMemo(() => <>{inlineOf(text).map(elementOfInline)}</>, [text])

const elementOfInline = (node: Inline, index: number): ComponentChildren => {
  if (typeof node === "string") return node
  if (node.kind === "code") return <code key={index}>{node.text}</code>
  const children = node.children.map(elementOfInline)
  if (node.kind === "link") {
    return (
      <a key={index} href={node.href} title={node.href} target="_blank" rel="noopener noreferrer nofollow">
        {children}
      </a>
    )
  }
  const Tag = node.kind
  return <Tag key={index}>{children}</Tag>
}
