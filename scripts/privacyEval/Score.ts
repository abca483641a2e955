/**
 * Precision and recall of the gateway's search over a corpus. A finding counts if its type and both
 * ends are right.
 */
import { Effect } from "effect"
import { allEntities, type Entity } from "../../src/domain/Privacy.ts"
import { runAtOnce, TimeBudget } from "../../src/gateway/privacy/TimeBudget.ts"
import { makeScanner } from "../../src/gateway/privacy/Scanner.ts"
import { type Sentence } from "./Corpus.ts"

export interface Score {
  readonly type: Entity
  readonly values: number
  readonly found: number
  readonly wrong: number
  readonly recall: number
  readonly precision: number
}

export interface Miss {
  readonly text: string
  readonly missed: ReadonlyArray<string>
  readonly wrong: ReadonlyArray<string>
}

export const score = (corpus: ReadonlyArray<Sentence>) =>
  Effect.map(makeScanner([]), (scan) => {
    const counts = new Map(allEntities.map((type) => [type, { values: 0, found: 0, wrong: 0 }]))
    const misses: Array<Miss> = []
    const everything = new Set<string>(allEntities)
    for (const { labels, text } of corpus) {
      const budget = new TimeBudget(() => 0n)
      const spans = runAtOnce(scan(text, everything, budget), budget) ?? []
      const nameOf = ({ end, start, type }: { readonly start: number; readonly end: number; readonly type: string }) =>
        `${type} ${start}-${end} ${text.slice(start, end)}`
      const wanted = new Set(labels.map(nameOf))
      const got = new Set(spans.map(nameOf))
      for (const label of labels) {
        const count = counts.get(label.type)
        if (count === undefined) continue
        count.values++
        if (got.has(nameOf(label))) count.found++
      }
      for (const span of spans) {
        const count = allEntities.find((type) => type === span.type)
        if (count !== undefined && !wanted.has(nameOf(span))) (counts.get(count) ?? { wrong: 0 }).wrong++
      }
      const missed = labels.map(nameOf).filter((name) => !got.has(name))
      const wrong = spans.map(nameOf).filter((name) => !wanted.has(name))
      if (missed.length + wrong.length > 0) misses.push({ text, missed, wrong })
    }
    const scores = [...counts].map(([type, { found, values, wrong }]): Score => ({
      type,
      values,
      found,
      wrong,
      recall: values === 0 ? 1 : found / values,
      precision: found + wrong === 0 ? 1 : found / (found + wrong)
    }))
    return { scores, misses }
  })

/** The table of docs/reference/privacy.md. */
export const table = (scores: ReadonlyArray<Score>): string =>
  [
    "| Entity | Values | Found | Wrongly found | Recall | Precision |",
    "|---|---|---|---|---|---|",
    ...scores.map(
      ({ found, precision, recall, type, values, wrong }) =>
        `| \`${type}\` | ${values} | ${found} | ${wrong} | ${recall.toFixed(3)} | ${precision.toFixed(3)} |`
    )
  ].join("\n")
