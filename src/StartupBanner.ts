/**
 * What is said when the gateway is ready. A log in JSON gets one line, with the files that hold the keys. A person gets where it listens and
 * three calls to paste, on the embedded database only, which is one developer's. A secret itself is shown on a terminal in development and
 * nowhere else; elsewhere the calls read it from its file.
 */
import { Console, Effect, Redacted, Result } from "effect"
import { HttpServer } from "effect/http"
import { join } from "node:path"
import { allScopes } from "./domain/Key.ts"
import { ApiKeys } from "./gateway/keys/ApiKeys.ts"
import { type SettingsShape } from "./Settings.ts"
import { findSecret, readOrMakeSecret } from "./store/secrets/SecretFile.ts"

/** `path`: the file that keeps it; null when it comes from the settings. `fresh`: made by this start. */
export interface AdminKey {
  readonly value: Redacted.Redacted
  readonly path: string | null
  readonly fresh: boolean
}

/** 5 USD a month: enough to try everything, and no more than that if it gets into wrong hands. */
const FIRST_KEY_BUDGET_NANO = 5_000_000_000

const firstKeyPath = ({ dataDir }: SettingsShape): string => join(dataDir, "first-api-key")

/** Makes the first API key if there has never been one. Comes before the first request, so that whoever finds the gateway ready finds the key. */
export const makeFirstKey = Effect.fnUntraced(function* (settings: SettingsShape) {
  if (settings.databaseUrl !== null) return
  const apiKeys = yield* ApiKeys
  const issue = apiKeys.issue({
    name: "first key",
    tier: "pro",
    scopes: allScopes,
    monthlyBudgetNano: FIRST_KEY_BUDGET_NANO,
    allowedModels: null,
    ownerId: null,
    expiresAtMs: null
  })
  yield* readOrMakeSecret(
    firstKeyPath(settings),
    Effect.map(issue, ({ secret }) => secret)
  )
})

export const welcome = Effect.fnUntraced(function* (settings: SettingsShape, admin: AdminKey) {
  const { address } = yield* HttpServer.HttpServer
  const url = HttpServer.formatAddress(address)
  const isEmbedded = settings.databaseUrl === null
  yield* Effect.annotateLogs(Effect.logInfo("ready"), {
    url,
    database: isEmbedded ? "embedded" : "postgres",
    ...(admin.path === null ? {} : { admin_key_file: admin.path }),
    ...(isEmbedded ? { first_api_key_file: firstKeyPath(settings) } : {})
  })
  if (!isEmbedded || settings.logFormat === "json") return
  const offers = settings.providers.flatMap(({ models }) => models)
  const showsSecrets = settings.environment === "development" && process.stdout.isTTY
  const first = yield* firstKey(firstKeyPath(settings))
  yield* Console.log(
    welcomeText({
      url,
      model: offers.find(({ embeddings }) => !embeddings)?.id ?? "mock/echo",
      adminKeyFile: admin.path,
      adminKey: showsSecrets && admin.fresh ? Redacted.value(admin.value) : null,
      firstKeyFile: first === null ? null : firstKeyPath(settings),
      firstKey: showsSecrets && first !== null ? Redacted.value(first) : null,
      mailbox: hasMailbox(settings)
    })
  )
})

/** Whether codes for signing in show on this machine, because nobody could send them. */
const hasMailbox = ({ auth, environment }: SettingsShape): boolean =>
  environment === "development" && auth.channels === null && auth.email === null

/** The key that the first start made, if it still opens anything. */
const firstKey = Effect.fnUntraced(function* (path: string) {
  const apiKeys = yield* ApiKeys
  const known = yield* findSecret(path)
  if (known === null) return null
  const opens = yield* Effect.result(apiKeys.opens(Redacted.value(known.value)))
  return Result.getOrElse(opens, () => false) ? known.value : null
})

export interface Shown {
  readonly url: string
  readonly model: string
  /** Null: it comes from the settings. */
  readonly adminKeyFile: string | null
  /** Null: it is not shown. */
  readonly adminKey: string | null
  /** Null: there is none any more. */
  readonly firstKeyFile: string | null
  /** Null: it is not shown. */
  readonly firstKey: string | null
  readonly mailbox: boolean
}

/** For a person. Its calls work when they are pasted into a shell. */
export const welcomeText = ({ adminKey, adminKeyFile, firstKey, firstKeyFile, mailbox, model, url }: Shown): string => {
  const shownOnce = adminKey === null ? "" : `\n               ${adminKey}   (shown this once)`
  const body = (stream: boolean) =>
    `'{"model":"${model}","messages":[{"role":"user","content":"Hello, tollgate"}]${stream ? ',"stream":true' : ""}}'`
  const key = firstKey ?? (firstKeyFile === null ? "$TOLLGATE_KEY" : `$(cat '${firstKeyFile}')`)
  const kept = `tier pro, 5 USD a month, kept in ${firstKeyFile}`
  const issued = firstKeyFile === null ? "the first one is revoked; issue another with POST /v1/keys" : kept
  const post = (stream: boolean) =>
    `curl ${stream ? "-N " : ""}${url}/v1/chat/completions -H "Authorization: Bearer ${key}" -H "Content-Type: application/json" -d ${body(stream)}`
  return `
  tollgate is ready

    URL          ${url}
    Console      ${url}/console
    API page     ${url}/docs
    Admin key    ${adminKeyFile === null ? "from TOLLGATE_ADMIN_KEY" : `in ${adminKeyFile}`}${shownOnce}
    API key      ${firstKey === null ? issued : `${firstKey}   (${issued})`}${mailbox ? `\n    Sign-in      codes show at ${url}/auth/dev/mailbox` : ""}

  Try it:

    ${post(false)}

    ${post(true)}

    curl ${url}/v1/models -H "Authorization: Bearer ${key}"
`
}
