/**
 * `tollgate doctor`: checks the dependencies of a gateway on this machine, and the running gateway,
 * and prints remedies. It changes and generates nothing. A failed check makes it exit with 1; a
 * warning does not.
 */
import { Effect, Result } from "effect"
import { Command } from "effect/cli"
import { FetchHttpClient } from "effect/http"
import { settings } from "../Check.ts"
import { NegativeResult } from "../Failure.ts"
import { failed, type Finding, ok } from "./Finding.ts"
import { checkGateway } from "./GatewayCheck.ts"
import { DataDir } from "../Globals.ts"
import { checkMachine, checkNode } from "./MachineCheck.ts"
import { answer, oneLine } from "../Output.ts"
import { withProgress } from "../Progress.ts"
import { checkProvider } from "./ProviderCheck.ts"
import { table } from "../Table.ts"

/** Checks the settings, and everything that depends on them. */
const checkSettings = Effect.gen(function* () {
  const read = yield* Effect.result(settings)
  if (Result.isFailure(read)) {
    return read.failure.faults.map(({ expected, problem, setting }) =>
      failed("settings", `${setting} ${problem}`, `Expected ${expected}.`)
    )
  }
  const dataDir = yield* DataDir
  const [machine, providers] = yield* Effect.all(
    [checkMachine(read.success, dataDir), Effect.forEach(read.success.providers, checkProvider, { concurrency: 8 })],
    { concurrency: "unbounded" }
  )
  return [ok("settings", "valid"), ...machine, ...providers.flat()]
})

const examination = Effect.gen(function* () {
  const [here, gateway] = yield* Effect.all([checkSettings, checkGateway()], { concurrency: "unbounded" })
  return [checkNode(process.versions.node), ...here, ...gateway]
  // @effect-diagnostics-next-line strictEffectProvide:off -- the one place of a command that looks at providers
}).pipe(Effect.provide(FetchHttpClient.layer))

const rendered = (findings: ReadonlyArray<Finding>): string =>
  [
    table(
      ["", "PART", "FOUND"],
      findings.map(({ found, part, status }) => [status, part, found]),
      "no findings"
    ),
    "",
    ...findings.flatMap(({ part, remedy, status }) =>
      remedy === null ? [] : [oneLine(`${status}: ${part}: ${remedy}`)]
    )
  ]
    .join("\n")
    .trimEnd()

export const doctor = Command.make(
  "doctor",
  {},
  Effect.fnUntraced(function* () {
    const findings = yield* examination.pipe(withProgress("checking"))
    const isHealthy = findings.every(({ status }) => status !== "failed")
    yield* answer({ object: "doctor", healthy: isHealthy, findings }, rendered(findings))
    if (!isHealthy) return yield* new NegativeResult()
  })
).pipe(
  Command.withDescription(
    "Check settings, Node, database, Redis, providers, clocks and the running gateway, with remedies"
  )
)
