/**
 * `tollgate doctor`: examines what a gateway here would stand on and the gateway that runs, each with what to do about it. It changes
 * nothing and generates nothing. Something that failed makes it end with 1; a warning does not.
 */
import { Effect, Result } from "effect"
import { Command } from "effect/cli"
import { FetchHttpClient } from "effect/http"
import { settings } from "./Check.ts"
import { Unwell } from "./Failure.ts"
import { failed, type Finding, ok } from "./Finding.ts"
import { checkGateway } from "./GatewayCheck.ts"
import { DataDir } from "./Globals.ts"
import { checkMachine, checkNode } from "./MachineCheck.ts"
import { answer, oneLine } from "./Output.ts"
import { withProgress } from "./Progress.ts"
import { checkProvider } from "./ProviderCheck.ts"
import { table } from "./Table.ts"

/** The settings, and what stands and falls with them. */
const checkSettings = Effect.gen(function* () {
  const read = yield* Effect.result(settings)
  if (Result.isFailure(read)) {
    return read.failure.faults.map(({ expected, problem, setting }) =>
      failed("settings", `${setting} ${problem}`, `Expected is ${expected}.`)
    )
  }
  const dataDir = yield* DataDir
  const [machine, providers] = yield* Effect.all(
    [checkMachine(read.success, dataDir), Effect.forEach(read.success.providers, checkProvider, { concurrency: 8 })],
    { concurrency: "unbounded" }
  )
  return [ok("settings", "in order"), ...machine, ...providers]
})

const examination = Effect.gen(function* () {
  const [here, gateway] = yield* Effect.all([checkSettings, checkGateway()], { concurrency: "unbounded" })
  return [checkNode(process.versions.node), ...here, ...gateway]
  // @effect-diagnostics-next-line strictEffectProvide:off -- the one place of a command that looks at providers
}).pipe(Effect.provide(FetchHttpClient.layer))

const told = (findings: ReadonlyArray<Finding>): string =>
  [
    table(
      ["", "PART", "FOUND"],
      findings.map(({ found, part, status }) => [status, part, found]),
      "nothing was looked at"
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
    const findings = yield* examination.pipe(withProgress("examining"))
    const isHealthy = findings.every(({ status }) => status !== "failed")
    yield* answer({ object: "doctor", healthy: isHealthy, findings }, told(findings))
    if (!isHealthy) return yield* new Unwell()
  })
).pipe(
  Command.withDescription(
    "Examine settings, Node, database, Redis, providers, clocks and the running gateway, with remedies"
  )
)
