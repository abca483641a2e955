/**
 * `tollgate providers`: how each provider and its models do, now and in the last 24 hours. Its
 * subcommands add, test and remove providers.
 */
import { Effect, Option } from "effect"
import { Argument, Command } from "effect/cli"
import { nearest } from "../../domain/Nearest.ts"
import { connect } from "../Connection.ts"
import { CommandFailed, isTollgateError } from "../Failure.ts"
import { answer } from "../Output.ts"
import { withProgress } from "../Progress.ts"
import { add, presets, remove, setKey, test } from "./ProviderChanges.ts"
import { details, overview } from "./ProviderPage.ts"

export const providers = Command.make(
  "providers",
  {
    slug: Argument.String("provider").pipe(
      Argument.withDescription("One provider, with its models and outages"),
      Argument.optional
    )
  },
  Effect.fnUntraced(function* ({ slug }) {
    const { adminProviders } = yield* connect("adminKey")
    if (Option.isNone(slug)) {
      const list = yield* adminProviders.list().pipe(withProgress("reading providers"))
      return yield* answer(list, overview(list.data))
    }
    const found = yield* adminProviders.get({ params: { slug: slug.value } }).pipe(
      Effect.catchIf(
        (error) => isTollgateError(error) && error.status === 404,
        () =>
          Effect.flatMap(adminProviders.list(), ({ data }) => {
            const slugs = data.map(({ slug }) => slug)
            const near = nearest(slug.value, slugs)
            return Effect.fail(
              new CommandFailed({
                code: "refused",
                message: `There is no provider "${slug.value}".`,
                remedy: near === null ? `There are: ${slugs.join(", ")}.` : `Did you mean "${near}"?`
              })
            )
          })
      ),
      withProgress("reading the provider")
    )
    yield* answer(found, details(found))
  })
).pipe(
  Command.withDescription("Show how providers do: circuits, uptime of 24 hours, causes, outages. Add and remove them"),
  Command.withExamples([
    { command: "tollgate providers" },
    { command: "tollgate providers openai" },
    { command: "tollgate providers add openai", description: "Asks for the key, and serves at once" }
  ]),
  Command.withSubcommands([add, test, setKey, remove, presets])
)
