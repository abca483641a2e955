/**
 * What a person reads when the gateway is ready: where it listens, where the admin key is, a first API key and three calls to paste. On
 * the embedded database only, which is one developer's; elsewhere it is one line of log and no secret.
 */
import { Console, Effect, Redacted } from "effect"
import { HttpServer } from "effect/http"
import { join } from "node:path"
import { allScopes } from "./domain/Key.ts"
import { Accounts } from "./gateway/Accounts.ts"
import { type SettingsShape } from "./Settings.ts"
import { findSecret, keptSecret } from "./store/KeptSecret.ts"

/** `path`: the file that keeps it; null when it comes from the settings. `fresh`: made by this start. */
export interface AdminKey {
  readonly value: Redacted.Redacted
  readonly path: string | null
  readonly fresh: boolean
}

export const welcome = Effect.fnUntraced(function* (settings: SettingsShape, admin: AdminKey) {
  const { address } = yield* HttpServer.HttpServer
  const url = HttpServer.formatAddress(address)
  yield* Effect.annotateLogs(Effect.logInfo("ready"), {
    url,
    database: settings.databaseUrl === null ? "embedded" : "postgres"
  })
  if (settings.databaseUrl !== null) return
  const first = yield* firstKey(join(settings.dataDir, "first-api-key"))
  const offers = settings.providers.flatMap(({ models }) => models)
  const model = offers.find(({ embeddings }) => !embeddings)?.id ?? "mock/echo"
  yield* Console.log(text({ url, model, admin, first, mailbox: hasMailbox(settings) }))
})

/** Whether codes for signing in show on this machine, because nobody could send them. */
const hasMailbox = ({ auth, environment }: SettingsShape): boolean =>
  environment === "development" && auth.channels === null && auth.email === null

/** The key that the first start made, if it still opens anything. */
const firstKey = Effect.fnUntraced(function* (path: string) {
  const accounts = yield* Accounts
  const issue = Effect.map(
    accounts.issue({
      name: "first key",
      tier: "pro",
      scopes: allScopes,
      monthlyBudgetNano: null,
      allowedModels: null,
      ownerId: null,
      expiresAtMs: null
    }),
    ({ secret }) => secret
  )
  const known = yield* findSecret(path)
  const { value } = known ?? (yield* keptSecret(path, issue))
  const opens = yield* Effect.result(accounts.authenticate(Redacted.value(value)))
  return opens._tag === "Success" ? { key: Redacted.value(value), path } : null
})

interface Shown {
  readonly url: string
  readonly model: string
  readonly admin: AdminKey
  readonly mailbox: boolean
  readonly first: { readonly key: string; readonly path: string } | null
}

const text = ({ admin, first, mailbox, model, url }: Shown): string => {
  const adminKey = admin.path === null ? "from TOLLGATE_ADMIN_KEY" : `in ${admin.path}`
  const shownOnce = admin.fresh ? `\n               ${Redacted.value(admin.value)}   (shown this once)` : ""
  const body = (stream: boolean) =>
    `'{"model":"${model}","messages":[{"role":"user","content":"Hello, tollgate"}]${stream ? ',"stream":true' : ""}}'`
  const key = first === null ? "$TOLLGATE_KEY" : first.key
  const post = (stream: boolean) =>
    `curl ${stream ? "-N " : ""}${url}/v1/chat/completions -H "Authorization: Bearer ${key}" -H "Content-Type: application/json" -d ${body(stream)}`
  return `
  tollgate is ready

    URL          ${url}
    Console      ${url}/console
    API page     ${url}/docs
    Admin key    ${adminKey}${shownOnce}
    API key      ${first === null ? "the first one is revoked; issue another with POST /v1/keys" : `${first.key}   (tier pro, kept in ${first.path})`}${mailbox ? `\n    Sign-in      codes show at ${url}/auth/dev/mailbox` : ""}

  Try it:

    ${post(false)}

    ${post(true)}

    curl ${url}/v1/models -H "Authorization: Bearer ${key}"
`
}
