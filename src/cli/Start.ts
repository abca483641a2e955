/** `tollgate start`: the gateway itself, in this process, as scripts/start runs it. */
import { Cause, Effect, Option } from "effect"
import { Command } from "effect/cli"
import { CommandFailed, Unwell } from "./Failure.ts"
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
        message: `A gateway takes its settings from the environment: ${given.variable}, not ${given.flag}.`
      })
    }
    const { gateway } = yield* Effect.promise(() => import("../Launch.ts"))
    // It has said itself why it ends.
    return yield* Effect.catchCause(gateway, (cause) =>
      Cause.hasInterruptsOnly(cause) ? Effect.interrupt : Effect.fail(new Unwell())
    )
  })
).pipe(Command.withDescription("Run a gateway here, with the settings of the environment and the settings file"))
