/** The Markdown of answers in the console: its form, its links, and its time. */
import { assert, describe, it } from "@effect/vitest"
import { type Block, blocksOf, cellsOf } from "../../src/console/playground/markdown/blocks.ts"
import { type Inline, inlineOf } from "../../src/console/playground/markdown/inline.ts"

const sample = `# Title #
Text with
two lines

1. one
   - in
   - side

   more
2. two
3) other

- [ ] to do
* star
> quoted
> - list

| a | b\\|c |
|--:|:--|
| 1 | 2 |

---
\`\`\`ts extra
const a = "\`\`"

\`\`\`
~~~
open`

const shape = (block: Block): unknown => {
  const { source: _, ...rest } = block
  return rest
}

/** Everything inside, as the page draws it. Returns the number of parts. */
const draw = (text: string, depth = 0): number =>
  depth > 8
    ? 1
    : blocksOf(text).reduce((sum, block) => {
        if (block.kind === "list") return sum + block.items.reduce((inner, item) => inner + draw(item, depth + 1), 1)
        if (block.kind === "quote") return sum + draw(block.text, depth + 1)
        if (block.kind === "table") return sum + block.rows.flatMap(cellsOf).flatMap(inlineOf).length
        return sum + ("text" in block ? inlineOf(block.text).length : 1)
      }, 0)

/** The deepest element of a line. */
const depthOf = (nodes: ReadonlyArray<Inline>): number =>
  nodes.reduce(
    (most, node) =>
      typeof node === "object" && "children" in node ? Math.max(most, 1 + depthOf(node.children)) : most,
    0
  )

describe("Markdown", () => {
  it("has blocks", () => {
    assert.deepStrictEqual(blocksOf(sample).map(shape), [
      { kind: "heading", level: 1, text: "Title" },
      { kind: "paragraph", text: "Text with\ntwo lines" },
      { kind: "list", start: 1, items: ["one\n- in\n- side\n\nmore", "two"] },
      { kind: "list", start: 3, items: ["other"] },
      { kind: "list", start: null, items: ["[ ] to do"] },
      { kind: "list", start: null, items: ["star"] },
      { kind: "quote", text: "quoted\n- list" },
      { kind: "table", head: ["a", "b|c"], rows: ["| 1 | 2 |"] },
      { kind: "rule" },
      { kind: "code", language: "ts", text: 'const a = "``"\n' },
      { kind: "code", language: "", text: "open" }
    ])
  })

  it("changes the last block only while the text grows", () => {
    const whole = blocksOf(sample)
    for (let end = 1; end < sample.length; end++) {
      const settled = blocksOf(sample.slice(0, end)).slice(0, -1)
      assert.deepStrictEqual(
        settled.map(shape),
        whole.slice(0, settled.length).map(shape),
        JSON.stringify(sample.slice(0, end))
      )
    }
  })

  it("has emphasis, code, breaks and links of the web alone", () => {
    const link = (href: string, ...children: ReadonlyArray<Inline>): Inline => ({ kind: "link", href, children })
    const cases: ReadonlyArray<readonly [string, ReadonlyArray<Inline>]> = [
      ["a *b **c*** d", ["a ", { kind: "em", children: ["b ", { kind: "strong", children: ["c"] }] }, " d"]],
      ["snake_case_name 2 * 3 * 4 \\*x\\*", ["snake_case_name 2 * 3 * 4 *x*"]],
      ["~~no~~ ``a ` b``", [{ kind: "del", children: ["no"] }, " ", { kind: "code", text: "a ` b" }]],
      ["a<br>b &lt;i&gt; <i>", ["a\nb <i> <i>"]],
      ['[t](https://a.example/b_(c) "x")', [link("https://a.example/b_(c)", "t")]],
      ["![p](https://a.example/p.png)", [link("https://a.example/p.png", "Image: ", "p")]],
      ["(see https://a.example/x.)", ["(see ", link("https://a.example/x", "https://a.example/x"), ".)"]],
      ["<mailto:a@b.example>", [link("mailto:a@b.example", "a@b.example")]],
      ["[a](javascript:alert(1)) [b](/console) [c](data:text/html,x) [d](//e.example)", ["a b c d"]],
      [
        "[*x* https://a.example/1](https://b.example/)",
        [link("https://b.example/", { kind: "em", children: ["x"] }, " ", "https://a.example/1")]
      ],
      ["[not a link] [", ["[not a link] ["]]
    ]
    for (const [text, expected] of cases) assert.deepStrictEqual(joined(inlineOf(text)), joined(expected), text)
  })

  it("takes little time and depth for hostile texts", { timeout: 30_000 }, () => {
    const parts =
      "*|_|[|![|`|- |- \n|> |>\n|**a |*a **b |[a](|](|<|http://a |&|1. |# |\\|~~a|a_b |((|*a_ |<https://|`a``b```|[a](b |  - x\n|-|- - |![a](http://x)|```\n".split(
        "|"
      )
    const texts = [
      ...[...parts, "|", "|-", "a|b\n-|-\n"].map((part) => part.repeat(100_000 / part.length)),
      Array.from({ length: 400 }, (_, depth) => `${" ".repeat(2 * depth)}- x`).join("\n"),
      "[".repeat(10_000) + "](x)".repeat(10_000)
    ]
    for (const text of texts) {
      assert.isBelow(draw(text), 120_000, text.slice(0, 20))
      assert.isBelow(depthOf(inlineOf(text)), 100, text.slice(0, 20))
    }
  })
})

/** With adjacent texts as one. */
const joined = (nodes: ReadonlyArray<Inline>): ReadonlyArray<unknown> =>
  nodes.reduce<ReadonlyArray<unknown>>((before, node) => {
    const last = before.at(-1)
    if (typeof node === "string")
      return typeof last === "string" ? [...before.slice(0, -1), last + node] : [...before, node]
    return [...before, "children" in node ? { ...node, children: joined(node.children) } : node]
  }, [])
