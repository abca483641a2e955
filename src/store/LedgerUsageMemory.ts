/** What an owner's keys have used, in memory, counted as Postgres counts it. */
import type { UsageRow, UsageSpan } from "./Ledger.ts"
import type { LedgerState } from "./LedgerMemory.ts"

export const usageOf = (state: LedgerState, { fromMs, ownerId, toMs }: UsageSpan): ReadonlyArray<UsageRow> => {
  const rows = new Map<string, UsageRow>()
  for (const { generation } of state.generations.values()) {
    const { cost, createdAtMs, keyId, model, usage } = generation
    if (generation.ownerId !== ownerId || createdAtMs < fromMs || createdAtMs >= toMs) continue
    const day = new Date(createdAtMs).toISOString().slice(0, 10)
    const name = JSON.stringify([day, model, keyId])
    const row = rows.get(name)
    rows.set(name, {
      day,
      model,
      keyId,
      requests: (row?.requests ?? 0) + 1,
      promptTokens: (row?.promptTokens ?? 0) + usage.promptTokens,
      completionTokens: (row?.completionTokens ?? 0) + usage.completionTokens,
      billedNano: (row?.billedNano ?? 0) + cost.billedNano
    })
  }
  return [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
}
