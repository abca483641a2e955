/** `tollgate keys create`, `edit`, `rotate`, `disable`, `enable` and `revoke`. */
import { Effect, Option, Result } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { switchFlag } from "../Flags.ts"
import { Scope, Tier } from "../../domain/Key.ts"
import { connect } from "../Connection.ts"
import { CommandFailed } from "../Failure.ts"
import { findKey } from "../Named.ts"
import { answer } from "../Output.ts"
import { withProgress } from "../Progress.ts"
import { isoFrom, momentFlag, whenOf } from "../When.ts"
import { describeKey } from "./KeyPage.ts"

export const keyArgument = Argument.String("key").pipe(
  Argument.withDescription("The key's id (also cut), its name or its prefix; not its secret")
)

const settings = {
  models: Flag.String("model").pipe(
    Flag.withMetavar("<id>"),
    Flag.withDescription("An allowed model, or `author/*`. Repeatable. Default: all"),
    Flag.atLeast(0)
  ),
  force: switchFlag("force", "Accept models that this gateway does not know yet"),
  scopes: Flag.Literals("scope", Scope.literals).pipe(
    Flag.withDescription("A scope of the key. Repeatable. Default: all"),
    Flag.atLeast(0)
  )
}

export const create = Command.make(
  "create",
  {
    name: Argument.String("name").pipe(Argument.withDescription("A name for the key")),
    tier: Flag.Literals("tier", Tier.literals).pipe(
      Flag.withDescription("Its rate limits"),
      Flag.withDefault("free" as const)
    ),
    budget: Flag.Finite("budget").pipe(
      Flag.withMetavar("<usd>"),
      Flag.withDescription("Monthly cap in USD. Default: the tier's"),
      Flag.optional
    ),
    ...settings,
    expires: momentFlag("expires", "Expiry: a day, a time, or a distance such as 30d")
  },
  Effect.fnUntraced(function* ({ budget, expires, force, models, name, scopes, tier }) {
    const { keys } = yield* connect("adminKey")
    const issued = yield* keys
      .create({
        payload: {
          name,
          tier,
          ...(Option.isSome(budget) ? { monthly_budget_usd: budget.value } : {}),
          ...(models.length > 0 ? { allowed_models: models } : {}),
          ...(force ? { force } : {}),
          ...(scopes.length > 0 ? { scopes } : {}),
          ...(Option.isSome(expires) ? { expires_at: yield* isoFrom(expires.value, "after") } : {})
        }
      })
      .pipe(withProgress("creating a key"))
    yield* answer(issued, describeKey(issued, issued.key))
  })
).pipe(
  Command.withDescription("Create a key and print its secret, which is shown only once"),
  Command.withExamples([{ command: "tollgate keys create ci --tier pro --budget 25 --model 'openai/*' --expires 90d" }])
)

/** A value, or a word that stands for none. */
const orNone = <A>(flag: string, text: string, word: string, read: (text: string) => A | null, form: string) => {
  const value = text === word ? null : read(text)
  return text !== word && value === null
    ? Result.fail(new CommandFailed({ code: "usage", message: `--${flag} "${text}": write ${form}, or ${word}.` }))
    : Result.succeed(value)
}

const dollars = (text: string): number | null =>
  text.trim() !== "" && Number.isFinite(Number(text)) && Number(text) >= 0 ? Number(text) : null

export const edit = Command.make(
  "edit",
  {
    key: keyArgument,
    name: Flag.String("name").pipe(Flag.withDescription("Another name"), Flag.optional),
    tier: Flag.Literals("tier", Tier.literals).pipe(Flag.withDescription("Its rate limits"), Flag.optional),
    budget: Flag.String("budget").pipe(
      Flag.withMetavar("<usd|none>"),
      Flag.withDescription("Monthly cap in USD, or none for no cap"),
      Flag.optional
    ),
    ...settings,
    anyModel: switchFlag("any-model", "Allow every model"),
    expires: Flag.String("expires").pipe(
      Flag.withMetavar("<moment|never>"),
      Flag.withDescription("Expiry: a day, a time, a distance such as 30d, or never"),
      Flag.optional
    )
  },
  Effect.fnUntraced(function* ({ anyModel, budget, expires, force, key, models, name, scopes, tier }) {
    if (anyModel && models.length > 0) {
      return yield* new CommandFailed({ code: "usage", message: "--model and --any-model exclude each other." })
    }
    const cap = Option.isSome(budget)
      ? { monthly_budget_usd: yield* Effect.fromResult(orNone("budget", budget.value, "none", dollars, "USD")) }
      : {}
    const when = Option.isSome(expires)
      ? yield* Effect.fromResult(orNone("expires", expires.value, "never", whenOf, "a moment"))
      : null
    const payload = {
      ...(Option.isSome(name) ? { name: name.value } : {}),
      ...(Option.isSome(tier) ? { tier: tier.value } : {}),
      ...cap,
      ...(anyModel ? { allowed_models: null } : models.length > 0 ? { allowed_models: models } : {}),
      ...(force ? { force } : {}),
      ...(scopes.length > 0 ? { scopes } : {}),
      ...(Option.isSome(expires) ? { expires_at: when === null ? null : yield* isoFrom(when, "after") } : {})
    }
    if (Object.keys(payload).length === 0) {
      return yield* new CommandFailed({
        code: "usage",
        message: "Nothing to change.",
        remedy: "See `tollgate keys edit --help`."
      })
    }
    const client = yield* connect("adminKey")
    const changed = yield* findKey(client, key).pipe(
      Effect.flatMap(({ id }) => client.keys.update({ params: { key_id: id }, payload })),
      withProgress("changing the key")
    )
    yield* answer(changed, describeKey(changed, null))
  })
).pipe(
  Command.withDescription("Change the name, tier, cap, models, scopes or expiry of a key"),
  Command.withExamples([
    { command: "tollgate keys edit ci --budget 50 --tier enterprise" },
    { command: "tollgate keys edit ci --any-model --expires never" }
  ])
)

export const rotate = Command.make(
  "rotate",
  {
    key: keyArgument,
    grace: Flag.Int("grace").pipe(
      Flag.withMetavar("<seconds>"),
      Flag.withDescription("How long the old secret stays valid, at most 30 days. Default: 0"),
      Flag.filter(
        (seconds) => seconds >= 0 && seconds <= 2_592_000,
        (seconds) => `Write seconds from 0 to 2592000, not ${seconds}`
      ),
      Flag.withDefault(0)
    )
  },
  Effect.fnUntraced(function* ({ grace, key }) {
    const client = yield* connect("adminKey")
    const issued = yield* findKey(client, key).pipe(
      Effect.flatMap(({ id }) => client.keys.rotate({ params: { key_id: id }, payload: { grace_seconds: grace } })),
      withProgress("rotating the key")
    )
    yield* answer(issued, describeKey(issued, issued.key))
  })
).pipe(
  Command.withDescription("Give a key a new secret and print it, which is shown only once"),
  Command.withExamples([
    { command: "tollgate keys rotate ci --grace 86400", description: "The old secret works one more day" }
  ])
)

const changes = {
  disable: { said: "disabled", description: "Disable keys: their requests are refused until they are enabled" },
  enable: { said: "active", description: "Enable keys that were disabled" },
  revoke: { said: "revoked permanently", description: "Revoke keys permanently" }
} as const

/** Every key is found before the first one is changed. */
const changing = <Name extends keyof typeof changes>(name: Name) =>
  Command.make(
    name,
    { keys: Argument.atLeast(keyArgument, 1) },
    Effect.fnUntraced(function* ({ keys: texts }) {
      const client = yield* connect("adminKey")
      const change = (id: string) =>
        name === "revoke"
          ? client.keys.revoke({ params: { key_id: id } })
          : client.keys.update({
              params: { key_id: id },
              payload: { status: name === "disable" ? "disabled" : "active" }
            })
      const changed = yield* Effect.forEach(texts, (text) => findKey(client, text)).pipe(
        Effect.flatMap(Effect.forEach(({ id }) => change(id))),
        withProgress("changing keys")
      )
      const said = changed.map(({ id, name: called }) => `${id} (${called}) is ${changes[name].said}.`)
      yield* answer(changed.length === 1 ? changed[0] : { object: "list", data: changed }, said.join("\n"))
    })
  ).pipe(
    Command.withDescription(changes[name].description),
    Command.withExamples([{ command: `tollgate keys ${name} ci` }])
  )

export const disable = changing("disable")
export const enable = changing("enable")
export const revoke = changing("revoke")
