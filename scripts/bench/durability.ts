/**
 * The cost of durability: misses with governance off, on the embedded database and on Postgres,
 * with and without a cap on the key.
 */
import { type Measure } from "./bench.ts"
import { closing } from "./closers.ts"
import { type Durability, path, startGateway } from "./gateway.ts"
import { type Row } from "./report.ts"
import { measureRequests } from "./requests.ts"

const kinds: ReadonlyArray<{
  readonly name: string
  readonly durability: Durability
  readonly budgetUsd: number | null
}> = [
  { name: "off", durability: "off", budgetUsd: null },
  { name: "embedded, no cap", durability: "embedded", budgetUsd: null },
  { name: "embedded, capped", durability: "embedded", budgetUsd: 1_000_000 },
  { name: "Postgres, no cap", durability: "postgres", budgetUsd: null },
  { name: "Postgres, capped", durability: "postgres", budgetUsd: 1_000_000 }
]

/**
 * Measures one gateway after another. `of off`: requests per second as a share of those with
 * governance off.
 */
export const measureDurability: Measure = async (bench) => {
  const table = new Map<string, Row>()
  for (const { name, ...kind } of kinds) {
    console.error(`  ${name} ...`)
    const measured = await closing(async (closers) => {
      const server = { ...(await startGateway(closers, bench.nginx, bench.streaming, kind)), name }
      return measureRequests(bench, [{ server, path }], { unique: true })
    })
    const row = measured.get(name) ?? {}
    const off = table.get("off") ?? row
    const share = (column: string): number => (row[column] ?? Number.NaN) / (off[column] ?? Number.NaN)
    table.set(name, { "of off @32": share("req/s @32"), "of off @1": share("req/s @1"), ...row })
  }
  return table
}
