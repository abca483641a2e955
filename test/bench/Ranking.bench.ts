/** Who may serve a request, and in which order: by the number of candidates and by what decides. */
import { assert, describe, it } from "@effect/vitest"
import { type Candidate, type SortAxis } from "../../src/domain/Catalog.ts"
import { explorable, explored, rank, type RankingInput } from "../../src/gateway/routing/Ranking.ts"
import { candidateWith } from "../gateway/plans.ts"

const candidates = (count: number): ReadonlyArray<Candidate> =>
  Array.from({ length: count }, (_, at) => candidateWith(`provider-${at}`, { contextLength: 8_000 + at * 1_000 }))

const inputWith = (count: number, defaultSort: SortAxis): RankingInput => ({
  candidates: candidates(count),
  preferences: null,
  defaultSort,
  kind: "chat",
  promptTokens: 500,
  outputTokens: 256,
  choices: 1,
  streamed: true,
  stats: ({ provider }) => ({
    calls: 100,
    successRate: 0.99,
    firstTokenMs: { p50: provider.slug.length * 10, p99: 900 },
    wholeMs: null,
    throughputTps: 50
  })
})

for (const axis of ["price", "latency", "throughput"] as const) {
  describe(`ranking by ${axis}`, () => {
    it("1, 3 and 20 candidates", async ({ bench }) => {
      const runs = [1, 3, 20].map((count) => {
        const input = inputWith(count, axis)
        return bench(`${count} candidates`, () => {
          const { ranked } = rank(input)
          explored(ranked, explorable(ranked, input), 0.5)
        })
      })
      await bench.compare(...runs)
      assert.lengthOf(rank(inputWith(20, axis)).ranked, 20)
    })
  })
}
