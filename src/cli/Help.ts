/** `tollgate help [command]`: the same as `--help` behind the command. */
import { Effect } from "effect"
import { Argument, Command } from "effect/cli"

export const help = Command.make(
  "help",
  {
    command: Argument.variadic(
      Argument.String("command").pipe(Argument.withDescription("A command, such as `keys create`"))
    )
  },
  // `withHelp` rewrites the line before it is parsed.
  () => Effect.void
).pipe(
  Command.withDescription("Show the help of a command"),
  Command.withExamples([{ command: "tollgate help keys create" }])
)

/**
 * The line with `--help` in place of `help`. A word that is no command stays without it, and the
 * parser says so.
 */
export const withHelp = (args: ReadonlyArray<string>, root: Command.Command.Any): ReadonlyArray<string> => {
  if (args[0] !== "help" || args.includes("--help") || args.includes("-h")) return args
  const rest = args.slice(1)
  let at: Command.Command.Any = root
  for (const word of rest.filter((arg) => !arg.startsWith("-"))) {
    const next = at.subcommands
      .flatMap(({ commands }) => [...commands])
      .find(({ alias, name }) => name === word || alias === word)
    if (next === undefined) return rest
    at = next
  }
  return [...rest, "--help"]
}
