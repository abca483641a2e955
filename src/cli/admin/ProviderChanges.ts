/**
 * `tollgate providers add`, `test`, `set-key`, `remove` and `presets`. A key is typed without echo,
 * read from stdin, or named by its variable; it is never an argument, which a shell would keep.
 */
import { Effect, Option, Redacted, Stdio, Stream } from "effect"
import { Argument, Command, Flag, Prompt } from "effect/cli"
import type { ProviderChangeReport, ProviderTestReport } from "../../api/ProviderSetup.ts"
import { connect } from "../Connection.ts"
import { CommandFailed } from "../Failure.ts"
import { count } from "../Figures.ts"
import { switchFlag } from "../Flags.ts"
import { answer, oneLine } from "../Output.ts"
import { withProgress } from "../Progress.ts"
import { type Cell, page, type Page, table } from "../Table.ts"

const slugArgument = Argument.String("provider").pipe(Argument.withDescription("The provider's slug"))

const keyFlags = {
  keyEnv: Flag.String("key-env").pipe(
    Flag.withMetavar("<NAME>"),
    Flag.withDescription("A variable of the gateway's environment that holds the key. Default: ask for the key"),
    Flag.optional
  ),
  test: Flag.Boolean("test").pipe(
    Flag.withDescription("Ask the provider with the key first, which is free"),
    Flag.withDefault(true)
  )
}

const choiceFlags = {
  preset: Argument.String("vendor").pipe(
    Argument.withDescription("A vendor that `tollgate providers presets` lists. Without one: --slug and --base-url"),
    Argument.optional
  ),
  slug: Flag.String("slug").pipe(Flag.withDescription("The provider's name in requests"), Flag.optional),
  name: Flag.String("name").pipe(Flag.withDescription("A name for people"), Flag.optional),
  dialect: Flag.Literals("dialect", ["openai", "anthropic", "gemini"]).pipe(
    Flag.withDescription("The API of a server that is no preset. Default: openai"),
    Flag.optional
  ),
  baseUrl: Flag.String("base-url").pipe(
    Flag.withMetavar("<address>"),
    Flag.withDescription("The server's address, such as https://api.example.com/v1"),
    Flag.optional
  ),
  noKey: switchFlag("no-key", "The server needs no key"),
  ...keyFlags
}

/** The key, typed or from stdin. Null: none was given. */
const askedKey = Effect.fnUntraced(function* (whose: string) {
  const stdio = yield* Stdio.Stdio
  const text = (yield* stdio.stdinIsTerminal)
    ? Redacted.value(yield* Prompt.Hidden({ message: `Key of ${whose} (not shown)` }))
    : yield* Stream.mkString(Stream.decodeText(stdio.stdin))
  return text.trim() === "" ? null : text.trim()
})

const keyOf = Effect.fnUntraced(function* (
  { keyEnv, noKey = false }: { readonly keyEnv: Option.Option<string>; readonly noKey?: boolean },
  whose: string
) {
  if (noKey && Option.isSome(keyEnv)) {
    return yield* new CommandFailed({ code: "usage", message: "--no-key and --key-env exclude each other." })
  }
  if (noKey) return {}
  if (Option.isSome(keyEnv)) return { key_env: keyEnv.value }
  const key = yield* askedKey(whose)
  return key === null
    ? yield* new CommandFailed({
        code: "usage",
        message: "No key was given.",
        remedy: "Type it, send it to stdin, name its variable with --key-env, or say --no-key."
      })
    : { api_key: key }
})

interface Choice {
  readonly preset: Option.Option<string>
  readonly slug: Option.Option<string>
  readonly name: Option.Option<string>
  readonly dialect: Option.Option<"openai" | "anthropic" | "gemini">
  readonly baseUrl: Option.Option<string>
  readonly keyEnv: Option.Option<string>
  readonly noKey: boolean
}

const choiceOf = Effect.fnUntraced(function* (given: Choice) {
  const { baseUrl, dialect, name, preset, slug } = given
  if (Option.isNone(preset) && (Option.isNone(slug) || Option.isNone(baseUrl))) {
    return yield* new CommandFailed({
      code: "usage",
      message: "Name a vendor, or --slug and --base-url of another server.",
      remedy: "`tollgate providers presets` lists the vendors."
    })
  }
  const whose = Option.getOrElse(preset, () => Option.getOrElse(slug, () => "the provider"))
  return {
    ...(Option.isSome(preset)
      ? { preset: preset.value }
      : { dialect: Option.getOrElse(dialect, () => "openai" as const) }),
    ...(Option.isSome(slug) ? { slug: slug.value } : {}),
    ...(Option.isSome(name) ? { name: name.value } : {}),
    ...(Option.isSome(baseUrl) ? { base_url: baseUrl.value } : {}),
    ...(yield* keyOf(given, whose))
  }
})

const price = (usd: number | undefined): string => (usd === undefined ? "-" : `$${usd}`)

const testPage = ({ host, key_checked, latency_ms, models, slug }: ProviderTestReport): Page =>
  page(
    `${slug}: ${host} answers in ${latency_ms ?? 0} ms${key_checked ? " and accepts the key" : ", but does not tell whether it accepts the key"}.`,
    "",
    table(
      ["MODEL", "UPSTREAM", "CONTEXT", "PROMPT / M", "COMPLETION / M", "LISTED"],
      models.map((model): ReadonlyArray<Cell> => [
        model.id,
        oneLine(model.upstream),
        model.context_length === null ? "-" : count(model.context_length),
        price(model.pricing?.prompt),
        price(model.pricing?.completion),
        model.listed === null ? "-" : model.listed ? "yes" : { text: "no", style: "yellow" }
      ]),
      "It lists no models."
    )
  )

const changeText = (change: ProviderChangeReport, said: string): string =>
  change.written
    ? `${said} ${change.backup === null ? "" : `${change.file} was written; the file as it was: ${change.backup}`}`.trim()
    : `The key is sealed. Put this into ${change.file}, and reload it:\n\n${change.text}`

const failed = ({ fault }: ProviderTestReport) =>
  new CommandFailed({ code: "refused", message: fault?.message ?? "The test failed." })

export const test = Command.make(
  "test",
  choiceFlags,
  Effect.fnUntraced(function* (given) {
    const { adminProviderSetup } = yield* connect("adminKey")
    const payload = yield* choiceOf(given)
    const report = yield* adminProviderSetup.test({ payload }).pipe(withProgress("asking the provider"))
    if (!report.ok) return yield* failed(report)
    yield* answer(report, testPage(report))
  })
).pipe(
  Command.withDescription("Test a provider and its key with one free call, and show its models and prices"),
  Command.withExamples([{ command: "tollgate providers test openai < key.txt" }])
)

/** `name` or `name=prompt/completion`. */
const modelOf = (text: string) => {
  const [, upstream = "", prompt, completion] = /^([^=]+)(?:=([\d.]+)\/([\d.]+))?$/.exec(text) ?? []
  if (upstream === "" || [prompt, completion].some((usd) => usd !== undefined && !Number.isFinite(Number(usd)))) {
    return Effect.fail(
      new CommandFailed({
        code: "usage",
        message: `--model "${text}": write a name, or a name with prices in USD per million tokens: small=0.15/0.60.`
      })
    )
  }
  return Effect.succeed({
    upstream,
    ...(prompt === undefined ? {} : { pricing: { prompt: Number(prompt), completion: Number(completion) } })
  })
}

export const add = Command.make(
  "add",
  {
    ...choiceFlags,
    models: Flag.String("model").pipe(
      Flag.withMetavar("<name[=prompt/completion]>"),
      Flag.withDescription(
        "A model of a server that is no preset, with prices in USD per million tokens unless it lists them. Repeatable. Default: all that it lists with prices"
      ),
      Flag.atLeast(0)
    ),
    print: switchFlag("print", "Seal the key and print the text for the settings file, without writing it")
  },
  Effect.fnUntraced(function* (given) {
    const { adminProviderSetup } = yield* connect("adminKey")
    const models = yield* Effect.forEach(given.models, modelOf)
    const payload = yield* choiceOf(given)
    const change = yield* adminProviderSetup
      .add({ payload: { ...payload, ...(models.length > 0 ? { models } : {}), test: given.test, write: !given.print } })
      .pipe(withProgress("adding the provider"))
    const named = change.models === 1 ? "1 model" : `${count(change.models)} models`
    yield* answer(change, changeText(change, `${change.slug} serves now, with ${named}.`))
  })
).pipe(
  Command.withDescription("Add a provider: test its key, write the settings file, and serve at once"),
  Command.withExamples([
    { command: "tollgate providers add openai", description: "Asks for the key" },
    { command: "tollgate providers add anthropic --key-env TEAM_ANTHROPIC_KEY" },
    { command: "tollgate providers add --slug acme --base-url https://api.example.com/v1 --model small=0.15/0.60" },
    { command: "tollgate providers add ollama --base-url http://127.0.0.1:11434/v1 --no-key" }
  ])
)

export const setKey = Command.make(
  "set-key",
  { slug: slugArgument, ...keyFlags },
  Effect.fnUntraced(function* ({ keyEnv, slug, test: isTested }) {
    const { adminProviderSetup } = yield* connect("adminKey")
    const key = yield* keyOf({ keyEnv }, slug)
    const change = yield* adminProviderSetup
      .replaceKey({ params: { slug }, payload: { ...key, test: isTested } })
      .pipe(withProgress("changing the key"))
    yield* answer(change, changeText(change, `${change.slug} uses the new key.`))
  })
).pipe(
  Command.withDescription("Give a provider another key, which is tested first"),
  Command.withExamples([{ command: "tollgate providers set-key openai" }])
)

export const remove = Command.make(
  "remove",
  { slug: slugArgument },
  Effect.fnUntraced(function* ({ slug }) {
    const { adminProviderSetup } = yield* connect("adminKey")
    const change = yield* adminProviderSetup.remove({ params: { slug } }).pipe(withProgress("removing the provider"))
    yield* answer(change, changeText(change, `${change.slug} is removed.`))
  })
).pipe(
  Command.withDescription("Take a provider out of the settings file, and its sealed key out of the database"),
  Command.withExamples([{ command: "tollgate providers remove acme" }])
)

export const presets = Command.make(
  "presets",
  {},
  Effect.fnUntraced(function* () {
    const { adminProviderSetup } = yield* connect("adminKey")
    const list = yield* adminProviderSetup.presets().pipe(withProgress("reading presets"))
    yield* answer(
      list,
      table(
        ["VENDOR", "NAME", "DIALECT", "MODELS", "ADDRESS", "VARIABLE", "IN USE"],
        list.data.map((preset): ReadonlyArray<Cell> => [
          preset.slug,
          preset.name,
          preset.dialect,
          preset.models === 0 ? "-" : count(preset.models),
          preset.base_url ?? "--base-url",
          preset.variable,
          preset.in_use ? { text: "yes", style: "green" } : "no"
        ]),
        "There are no presets."
      )
    )
  })
).pipe(
  Command.withDescription("List the vendors that the gateway knows"),
  Command.withExamples([{ command: "tollgate providers presets" }])
)
