/**
 * `npm run bench:cli`: the processor time (user and system) of lines that call no gateway, by
 * scripts/tollgate as a user types it. Prints the median and the worst of several runs, after one
 * that fills the compile cache. For a quiet machine.
 */
import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { quantile } from "./quantile.ts"

const RUNS = 15
const LIMIT_S = 0.3

const launcher = fileURLToPath(new URL("../tollgate", import.meta.url))

const secondsOf = (args: ReadonlyArray<string>): number => {
  // The shell's `times` counts its children; those of this process cannot be told apart.
  const script = `"$0" "$@" >/dev/null 2>&1; times`
  const { stdout } = spawnSync("bash", ["-c", script, launcher, ...args], { encoding: "utf8" })
  const children = stdout.trimEnd().split("\n").at(-1) ?? ""
  return [...children.matchAll(/(\d+)m([\d.]+)s/g)].reduce((sum, [, m, s]) => sum + Number(m) * 60 + Number(s), 0)
}

for (const line of ["--version", "--help", "help keys create", "modls"]) {
  const args = line.split(" ")
  secondsOf(args)
  const seconds = Array.from({ length: RUNS }, () => secondsOf(args)).sort((a, b) => a - b)
  const [median, worst] = [quantile(seconds, 0.5), quantile(seconds, 1)]
  console.log(
    `tollgate ${line.padEnd(18)} median ${median.toFixed(3)} s, worst ${worst.toFixed(3)} s${median > LIMIT_S ? `  above ${LIMIT_S} s` : ""}`
  )
}
