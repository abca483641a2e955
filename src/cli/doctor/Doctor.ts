/**
 * `tollgate doctor`: checks the dependencies of a gateway on this machine, and the running gateway,
 * and prints remedies. It changes and generates nothing. A failed check makes it exit with 1; a
 * warning does not.
 */
import { Effect } from "effect"
import { Command } from "effect/cli"
import { NegativeResult } from "../Failure.ts"
import type { Finding } from "./Finding.ts"
import { answer, oneLine } from "../Output.ts"
import { withProgress } from "../Progress.ts"
import { type Page, page, table } from "../Table.ts"

const styles = { ok: "green", warning: "yellow", failed: "red" } as const

const rendered = (findings: ReadonlyArray<Finding>): Page => {
  const remedies = findings.flatMap(({ part, remedy, status }) =>
    remedy === null ? [] : [oneLine(`${status}: ${part}: ${remedy}`)]
  )
  return page(
    table(
      ["", "PART", "FOUND"],
      findings.map(({ found, part, status }) => [{ text: status, style: styles[status] }, part, found]),
      "no findings"
    ),
    ...(remedies.length === 0 ? [] : ["", ...remedies])
  )
}

export const doctor = Command.make(
  "doctor",
  {},
  Effect.fnUntraced(function* () {
    const { examination } = yield* Effect.promise(() => import("./Examination.ts"))
    const findings = yield* examination.pipe(withProgress("checking"))
    const isHealthy = findings.every(({ status }) => status !== "failed")
    yield* answer({ object: "doctor", healthy: isHealthy, findings }, rendered(findings))
    if (!isHealthy) return yield* new NegativeResult()
  })
).pipe(
  Command.withDescription(
    "Check settings, Node, database, Redis, providers, clocks and the running gateway, with remedies"
  ),
  Command.withExamples([{ command: "tollgate doctor" }, { command: "tollgate doctor --json" }])
)
