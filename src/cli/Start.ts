/** `tollgate start`: runs the gateway in this process, like scripts/start. */
import { Cause, Effect, Option } from "effect"
import { Command } from "effect/cli"
import { CommandFailed, NegativeResult } from "./Failure.ts"
import { AdminKey, DataDir, Url } from "./Globals.ts"

export const start = Command.make(
  "start",
  {},
  Effect.fnUntraced(function* () {
    const given = [
      { flag: "--url", variable: "TOLLGATE_HOST and TOLLGATE_PORT", isGiven: Option.isSome(yield* Url) },
      { flag: "--admin-key", variable: "TOLLGATE_ADMIN_KEY", isGiven: Option.isSome(yield* AdminKey) },
      { flag: "--data-dir", variable: "TOLLGATE_DATA_DIR", isGiven: Option.isSome(yield* DataDir) }
    ].find(({ isGiven }) => isGiven)
    if (given !== undefined) {
      return yield* new CommandFailed({
        code: "usage",
        message: `The gateway reads its settings from the environment: set ${given.variable} instead of ${given.flag}.`
      })
    }
    const { gateway } = yield* Effect.promise(() => import("../Launch.ts"))
    // The gateway has already printed why it failed.
    return yield* Effect.catchCause(gateway, (cause) =>
      Cause.hasInterruptsOnly(cause) ? Effect.interrupt : Effect.fail(new NegativeResult())
    )
  })
).pipe(
  Command.withDescription("Run a gateway with the settings of the environment and the settings file"),
  Command.withExamples([{ command: "tollgate start" }, { command: "TOLLGATE_PORT=9000 tollgate start" }])
)
