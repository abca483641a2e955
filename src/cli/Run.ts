/**
 * Runs one command line. Requested help goes to stdout. Usage errors go to stderr and point to the
 * help. Every failure is printed once.
 */
import { type Cause, Effect } from "effect"
import { CliConfig, CliOutput, Command, GlobalFlag } from "effect/cli"
import { version } from "../api/Api.ts"
import { errorText } from "./Failure.ts"
import { writeError, write } from "./Output.ts"
import { tollgate } from "./Tollgate.ts"

/** Read from the raw arguments, because the parser itself may fail. */
const wantsJson = (args: ReadonlyArray<string>): boolean => {
  const end = args.indexOf("--")
  return args.slice(0, end === -1 ? args.length : end).includes("--json")
}

export const run = Effect.fnUntraced(function* (args: ReadonlyArray<string>) {
  const isJson = wantsJson(args)
  const services = yield* Effect.context<Command.Environment>()
  const formatter = CliOutput.defaultFormatter({ colors: false })
  const print = (written: ReturnType<typeof write>) => Effect.provideContext(Effect.ignore(written), services)
  const present: CliOutput.Presenter["present"] = (event) => {
    switch (event._tag) {
      case "Version":
        return print(write(`${event.name} ${event.version}\n`))
      case "Help": {
        const text = formatter.formatHelpDoc(event.helpDoc)
        return print(event.reason === "Requested" ? write(`${text}\n`) : writeError(`${text}\n`))
      }
      case "InvalidInvocation": {
        const faults = event.errors.map(({ message }) => message)
        const help = `tollgate ${[...event.commandPath.slice(1), "--help"].join(" ")}`
        return print(
          writeError(
            isJson
              ? `${JSON.stringify({ error: { type: "usage", message: faults.join("\n"), remedy: help } })}\n`
              : `${faults.map((fault) => `tollgate: ${fault}`).join("\n")}\n  See ${help}.\n`
          )
        )
      }
    }
  }
  return yield* Command.runWith(tollgate, { version })(args).pipe(
    Effect.provideService(CliOutput.Presenter, { present }),
    Effect.provideService(
      CliConfig.CliConfig,
      CliConfig.make({ builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions] })
    ),
    Effect.tapCause((cause: Cause.Cause<unknown>) => {
      const text = errorText(cause, isJson)
      return text === null ? Effect.void : Effect.ignore(writeError(`${text}\n`))
    })
  )
})
