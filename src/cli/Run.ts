/**
 * One command line from its arguments to its end. Help that was asked for goes to stdout; what is wrong with a line goes to stderr and
 * names the help, and every failure is told once.
 */
import { type Cause, Effect } from "effect"
import { CliConfig, CliOutput, Command, GlobalFlag } from "effect/cli"
import { version } from "../api/Api.ts"
import { complaint } from "./Failure.ts"
import { remark, write } from "./Output.ts"
import { tollgate } from "./Tollgate.ts"

/** The line itself says how faults are told, for what is wrong may be the line. */
const wantsJson = (args: ReadonlyArray<string>): boolean => {
  const end = args.indexOf("--")
  return args.slice(0, end === -1 ? args.length : end).includes("--json")
}

export const run = Effect.fnUntraced(function* (args: ReadonlyArray<string>) {
  const isJson = wantsJson(args)
  const services = yield* Effect.context<Command.Environment>()
  const formatter = CliOutput.defaultFormatter({ colors: false })
  const say = (written: ReturnType<typeof write>) => Effect.provideContext(Effect.ignore(written), services)
  const present: CliOutput.Presenter["present"] = (event) => {
    switch (event._tag) {
      case "Version":
        return say(write(`${event.name} ${event.version}\n`))
      case "Help": {
        const text = formatter.formatHelpDoc(event.helpDoc)
        return say(event.reason === "Requested" ? write(`${text}\n`) : remark(`${text}\n`))
      }
      case "InvalidInvocation": {
        const faults = event.errors.map(({ message }) => message)
        const help = `tollgate ${[...event.commandPath.slice(1), "--help"].join(" ")}`
        return say(
          remark(
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
      const text = complaint(cause, isJson)
      return text === null ? Effect.void : Effect.ignore(remark(`${text}\n`))
    })
  )
})
