/**
 * The benchmark: measures the gateway and others on one machine in one run. The measurements are in
 * phases.ts. Prints one table per phase and, with `--out`, writes the figures as JSON. Exits 1 if a
 * request failed, because the figures are then meaningless.
 */
import { writeFileSync } from "node:fs"
import { availableParallelism, cpus } from "node:os"
import { type Bench, type Phase, Skipped } from "./bench.ts"
import { closeAll, closing } from "./closers.ts"
import { type Options, parseOptions, type PhaseName } from "./options.ts"
import { phases } from "./phases.ts"
import { ratios, render, type Table } from "./report.ts"
import { startNginx, startProgram } from "./servers.ts"

const figuresOf = (table: Table, related: Phase["related"]) => ({
  ...Object.fromEntries(table),
  ...(related === undefined ? {} : { ratios: ratios(table, ...related) })
})

/** One turn of two seconds, or less, of one server. */
type Turn = Record<string, string | number>

const measure = (options: Options, turns: Array<Turn>): Promise<ReadonlyMap<PhaseName, Table>> =>
  closing(async (shared) => {
    const nginx = await startNginx(shared)
    const streaming = await startProgram(shared, "upstream", "streamUpstream.ts")
    const tables = new Map<PhaseName, Table>()
    for (const name of options.phases) {
      const { measure, related, title } = phases[name]
      console.error(`${name} ...`)
      const record: Bench["record"] = (server, connections, { garbage: { allocatedBytes, pauseMicros }, ...load }) => {
        const pauses = { collections: pauseMicros.length, longestPauseMicros: Math.max(0, ...pauseMicros) }
        turns.push({ phase: name, server, connections, ...load, allocatedBytes, ...pauses })
      }
      const table = await closing((closers) => measure({ options, nginx, streaming, record }, closers))
      if (table instanceof Skipped) {
        console.log(`${title}\nskipped: ${table.reason}\n`)
        continue
      }
      tables.set(name, table)
      console.log(`${render(`${title} (${options.seconds} s a measurement)`, table, related)}\n`)
    }
    return tables
  })

const options = parseOptions(process.argv.slice(2))
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => void closeAll().finally(() => process.exit(130)))
}
const machine = { cores: availableParallelism(), model: cpus()[0]?.model ?? "unknown", node: process.version }
console.log(`${machine.cores} cores (${machine.model}), Node ${machine.node}\n`)
const turns: Array<Turn> = []
const tables = await measure(options, turns)
const failed = [...tables.values()].some((table) => [...table.values()].some((row) => (row["errors"] ?? 0) > 0))
if (failed) console.error("Some requests failed: see the column `errors`.")
process.exitCode = failed ? 1 : 0
if (options.out !== null) {
  const figures = Array.from(tables, ([name, table]) => [name, figuresOf(table, phases[name].related)])
  writeFileSync(
    options.out,
    `${JSON.stringify({ ...machine, seconds: options.seconds, ...Object.fromEntries(figures), turns }, null, 2)}\n`
  )
}
