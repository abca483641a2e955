/** All checks of `tollgate doctor`. They change and generate nothing. */
import { Effect, Result } from "effect"
import { FetchHttpClient } from "effect/http"
import { settings } from "../Check.ts"
import { DataDir } from "../Globals.ts"
import { failed, ok } from "./Finding.ts"
import { checkGateway } from "./GatewayCheck.ts"
import { checkMachine, checkNode } from "./MachineCheck.ts"
import { checkProvider } from "./ProviderCheck.ts"

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

export const examination = Effect.gen(function* () {
  const [here, gateway] = yield* Effect.all([checkSettings, checkGateway()], { concurrency: "unbounded" })
  return [checkNode(process.versions.node), ...here, ...gateway]
  // @effect-diagnostics-next-line strictEffectProvide:off -- the one place of a command that looks at providers
}).pipe(Effect.provide(FetchHttpClient.layer))
