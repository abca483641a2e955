/** `tollgate start`: runs the gateway in this process, like scripts/start. */
import { Cause, Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { listenOn } from "../settings/CommandLine.ts"
import { CommandFailed, NegativeResult } from "./Failure.ts"
import { AdminKey, DataDir, Url } from "./Globals.ts"

export const start = Command.make(
  "start",
  {
    port: Flag.Int("port").pipe(
      Flag.withDescription("The port to listen on, like TOLLGATE_PORT. Default: 8787; 0: the system chooses"),
      Flag.filter(
        (port) => port >= 0 && port <= 65_535,
        (port) => `Write a number from 0 to 65535, not ${port}`
      ),
      Flag.optional
    )
  },
  Effect.fnUntraced(function* ({ port }) {
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
    if (Option.isSome(port)) yield* listenOn(port.value)
    const { gateway } = yield* Effect.promise(() => import("../Launch.ts"))
    // The gateway has already printed why it failed.
    return yield* Effect.catchCause(gateway, (cause) =>
      Cause.hasInterruptsOnly(cause) ? Effect.interrupt : Effect.fail(new NegativeResult())
    )
  })
).pipe(
  Command.withDescription("Run a gateway with the settings of the environment and the settings file"),
  Command.withExamples([{ command: "tollgate start" }, { command: "tollgate start --port 9000" }])
)
