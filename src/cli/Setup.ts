/**
 * `tollgate setup`: the settings of a client for this gateway. It prints them, or merges them into
 * the client's own file. The key is written only if asked for, and never printed when written.
 */
import { Clock, Effect, FileSystem, Option, Redacted, Result } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { switchFlag } from "./Flags.ts"
import { clientDirectories } from "../settings/CommandLine.ts"
import { address, clientOf, findCredential } from "./Connection.ts"
import { CommandFailed } from "./Failure.ts"
import { answer, oneLine, writeError } from "./Output.ts"
import { withProgress } from "./Progress.ts"
import { type SettingsOfClient, setupClients, type Target } from "./setup/Clients.ts"
import { type Asked, checkedModels, isNoAnswer, uncheckedModels } from "./setup/ModelCheck.ts"
import { prepared, write } from "./setup/SettingsFile.ts"
import { merged, type Setting, type SettingsFormat, valueAt } from "./setup/SettingsText.ts"

const flags = {
  client: Argument.Literals("client", ["claude-code", "codex", "opencode", "cline", "continue", "cursor"]).pipe(
    Argument.withDescription("The program that is to use the gateway")
  ),
  model: Flag.String("model").pipe(
    Flag.withAlias("m"),
    Flag.withMetavar("<id>"),
    Flag.withDescription("Default: the first chat model that the key may use"),
    Flag.optional
  ),
  small: Flag.String("small-model").pipe(
    Flag.withMetavar("<id>"),
    Flag.withDescription("The model of small tasks, such as titles. Default: the same model"),
    Flag.optional
  ),
  write: switchFlag("write", "Merge the settings into the client's file, and keep a copy of the file as it was"),
  dryRun: switchFlag("dry-run", "Only print. This is the default"),
  withKey: switchFlag(
    "with-key",
    "Put the key itself into the settings, in place of the name of an environment variable"
  ),
  file: Flag.String("file").pipe(
    Flag.withMetavar("<path>"),
    Flag.withDescription("The settings file. Default: the client's own"),
    Flag.optional
  ),
  check: Flag.Boolean("check").pipe(
    Flag.withDescription("Fail if the gateway cannot be asked for the models. Default: ask if it answers"),
    Flag.optional
  )
}

/** The models, as the gateway knows them if it can be asked. */
const modelsOf = Effect.fnUntraced(function* (
  asked: Asked,
  { check, key, url }: { readonly url: string; readonly key: Redacted.Redacted | null; readonly check: boolean | null }
) {
  const unasked = (why: string) =>
    Effect.map(Effect.fromResult(uncheckedModels(asked)), (found) => ({ ...found, warning: why }))
  if (check === false) return yield* unasked("The models were not checked.")
  if (key === null) {
    if (check === null) return yield* unasked("The models were not checked, because no API key was found.")
    return yield* new CommandFailed({
      code: "usage",
      message: `No API key found for ${url}.`,
      remedy: "Set --key or TOLLGATE_API_KEY."
    })
  }
  const client = yield* clientOf({ url, apiKey: key })
  const found = yield* checkedModels(client, asked).pipe(withProgress("reading models"), Effect.result)
  if (Result.isSuccess(found)) return { ...found.success, warning: null }
  const error = found.failure
  return check === true || !isNoAnswer(error) || asked.model === null
    ? yield* error
    : yield* unasked(`The models were not checked: ${error.message}`)
})

/** The first file that exists, or the last. */
const fileOf = Effect.fnUntraced(function* ({ files }: SettingsOfClient, given: string | null) {
  if (given !== null) return given
  const system = yield* FileSystem.FileSystem
  const paths = files(yield* clientDirectories)
  const existing = yield* Effect.filter(paths, (path) => Effect.orElseSucceed(system.exists(path), () => false))
  return existing[0] ?? paths.at(-1) ?? ""
})

/** The settings alone, as a file that has no others. */
const alone = (format: SettingsFormat, settings: ReadonlyArray<Setting>): string =>
  Result.match(merged(format, format.blank, settings), { onSuccess: ({ text }) => text, onFailure: (why) => why })

const strongerIn = ({ format, stronger = [] }: SettingsOfClient, text: string, settings: ReadonlyArray<Setting>) => {
  const said = Result.getOrNull(format.read(text))
  const isOwn = (path: ReadonlyArray<string>) => settings.some((setting) => setting.path.join("\0") === path.join("\0"))
  return stronger.flatMap(({ path, remedy }) =>
    valueAt(said, path) === undefined || isOwn(path) ? [] : [`${path.join(".")} is set. ${remedy}`]
  )
}

const numbered = (steps: ReadonlyArray<string>): string => steps.map((step) => `  ${step}`).join("\n")

export const setup = Command.make(
  "setup",
  flags,
  Effect.fnUntraced(function* ({ check, client: name, dryRun, file: given, model, small, withKey, write: mayWrite }) {
    const client = setupClients[name]
    if (mayWrite && (dryRun || client.file === null)) {
      return yield* new CommandFailed({
        code: "usage",
        message: dryRun
          ? "--write and --dry-run exclude each other."
          : `${client.title} keeps its settings in its window.`,
        remedy: dryRun ? "Choose one of them." : "Run the command without --write: it prints the steps."
      })
    }
    const url = yield* address
    const key = yield* findCredential("apiKey", url)
    if (withKey && key === null) {
      return yield* new CommandFailed({
        code: "usage",
        message: `No API key found for ${url}.`,
        remedy: "Set --key or TOLLGATE_API_KEY, or leave --with-key out."
      })
    }
    const asked = { model: Option.getOrNull(model), small: Option.getOrNull(small), prefers: client.prefers }
    const { warning, ...models } = yield* modelsOf(asked, { url, key, check: Option.getOrNull(check) })
    const target: Target = {
      ...models,
      url,
      key: withKey && key !== null ? Redacted.value(key) : null,
      nowIso: new Date(yield* Clock.currentTimeMillis).toISOString()
    }
    const steps = client.steps(target)
    const told = { object: "setup", client: name, model: target.model.id, small_model: target.small.id, steps }
    if (client.file === null) {
      if (warning !== null) yield* writeError(`tollgate: ${oneLine(warning)}\n`)
      return yield* answer({ ...told, file: null, warnings: warning === null ? [] : [warning] }, numbered(steps))
    }
    const settings = client.file.settings(target)
    const plan = yield* prepared(yield* fileOf(client.file, Option.getOrNull(given)), client.file.format, settings)
    const backup = mayWrite ? yield* write(plan, withKey) : null
    const warnings = [...(warning === null ? [] : [warning]), ...strongerIn(client.file, plan.text, settings)]
    for (const each of warnings) yield* writeError(`tollgate: ${oneLine(each)}\n`)
    const changed = plan.changed.map(({ path }) => path.join("."))
    const replaced = plan.changed.filter(({ wasThere }) => wasThere).map(({ path }) => path.join("."))
    const shown = alone(client.file.format, settings)
    const state =
      plan.before === null ? "new" : changed.length === 0 ? "unchanged" : `${changed.length} settings to merge`
    const text = mayWrite
      ? [
          changed.length === 0 ? `${plan.file} is up to date.` : `${plan.file}: wrote ${changed.join(", ")}.`,
          ...(replaced.length === 0 ? [] : [`Replaced: ${replaced.join(", ")}.`]),
          ...(backup === null ? [] : [`The file as it was: ${backup}`]),
          ...(steps.length === 0 ? [] : ["", numbered(steps)])
        ]
      : [`${plan.file} (${state}):`, "", shown.trimEnd(), "", numbered(steps)]
    yield* answer(
      {
        ...told,
        file: plan.file,
        written: mayWrite,
        changed,
        replaced,
        backup,
        warnings,
        ...(mayWrite ? {} : { settings: shown })
      },
      text.join("\n")
    )
  })
).pipe(
  Command.withDescription("Print or write the settings of a coding agent for this gateway"),
  Command.withExamples([
    { command: "tollgate setup claude-code --model anthropic/claude-opus-5.5" },
    { command: "tollgate setup codex --model openai/gpt-6 --write", description: "Into ~/.codex/config.toml" }
  ])
)
