/**
 * Runs one command line. Requested help goes to stdout. Usage errors go to stderr and point to the
 * help. Every failure is printed once.
 */
import { type Cause, Effect } from "effect"
import { CliConfig, CliOutput, Command, GlobalFlag } from "effect/cli"
import { version } from "../api/Version.ts"
import { errorText } from "./Failure.ts"
import { withHelp } from "./Help.ts"
import { Look, lookOf } from "./Look.ts"
import { write, writeError } from "./Output.ts"
import { tollgate } from "./Tollgate.ts"

/** Read from the raw arguments, because the parser itself may fail. */
const flagsOf = (args: ReadonlyArray<string>) => {
  const end = args.indexOf("--")
  const given = args.slice(0, end === -1 ? args.length : end)
  const colour = given.findLast((arg) => arg === "--color" || arg === "--no-color")
  return { isJson: given.includes("--json"), colour: colour === undefined ? null : colour === "--color" }
}

export const run = Effect.fnUntraced(function* (given: ReadonlyArray<string>) {
  const args = withHelp(given, tollgate)
  const { colour, isJson } = flagsOf(args)
  const services = yield* Effect.context<Command.Environment>()
  const look = yield* lookOf(colour)
  const isColoured = look.paint("bold", "x") !== "x"
  const formatter = CliOutput.defaultFormatter({ colors: isColoured, globalFlags: "summary" })
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
              : `${faults.map((fault) => `${look.paintError("red", "tollgate:")} ${fault}`).join("\n")}\n  See ${help}.\n`
          )
        )
      }
    }
  }
  return yield* Command.runWith(tollgate, { version })(args).pipe(
    Effect.provideService(CliOutput.Presenter, { present }),
    Effect.provideService(Look, look),
    Effect.provideService(
      CliConfig.CliConfig,
      CliConfig.make({ builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions] })
    ),
    Effect.tapCause((cause: Cause.Cause<unknown>) => {
      const text = errorText(cause, isJson, look.paintError)
      return text === null ? Effect.void : Effect.ignore(writeError(`${text}\n`))
    })
  )
})
