/** Prometheus's own tool, if installed: checks expositions and queries. */
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** Its output and exit code; 0 means no fault. */
export interface Verdict {
  readonly status: number | null
  readonly said: string
}

export const isPromtoolThere = spawnSync("promtool", ["--version"]).error === undefined

export const promtool = (args: ReadonlyArray<string>, input = ""): Verdict => {
  const { status, stderr, stdout } = spawnSync("promtool", args, { encoding: "utf8", input })
  return { status, said: stdout + stderr }
}

/**
 * Runs each query on series that have had an exposition's values for half an hour. A query without
 * a result is a fault.
 */
export const findsSeries = (exposition: string, queries: ReadonlyArray<string>): Verdict => {
  const samples = exposition.split("\n").flatMap((line) => {
    const [, name = "", labels, value = ""] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
    const all = [...(labels === undefined || labels === "" ? [] : [labels]), 'job="tollgate"', 'instance="here"']
    return Number.isFinite(Number.parseFloat(value)) ? [{ series: `${name}{${all.join(",")}}`, value }] : []
  })
  const series = [...samples, { series: 'up{job="tollgate",instance="here"}', value: "1" }]
  const tests = {
    evaluation_interval: "1m",
    tests: [
      {
        interval: "1m",
        input_series: series.map((one) => ({ series: one.series, values: `${one.value}+0x60` })),
        promql_expr_test: queries.map((query) => ({
          expr: `count(${query.replaceAll("$__rate_interval", "5m")}) > bool 0`,
          eval_time: "30m",
          exp_samples: [{ labels: "{}", value: 1 }]
        }))
      }
    ]
  }
  const folder = mkdtempSync(join(tmpdir(), "promtool-"))
  const file = join(folder, "queries.json")
  writeFileSync(file, JSON.stringify(tests))
  const verdict = promtool(["test", "rules", file])
  rmSync(folder, { recursive: true })
  return verdict
}
