/**
 * Which gateway a command speaks to and with which credentials: flags first, then the environment, then, for a gateway on this very
 * machine, the files that its start left in the data directory. Those are never sent anywhere else.
 */
import { Effect, FileSystem, Option, Path, Redacted } from "effect"
import { FetchHttpClient } from "effect/http"
import { Tollgate, type TollgateShape } from "../client/Client.ts"
import { commandLineVariables } from "../settings/CommandLine.ts"
import { CommandFailed } from "./Failure.ts"
import { AdminKey, ApiKey, DataDir, Url } from "./Globals.ts"

const defaultUrl = "http://127.0.0.1:8787"

const loopback = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/

const credentials = {
  apiKey: { file: "first-api-key", flag: "--key", variable: "TOLLGATE_API_KEY", name: "API key" },
  adminKey: { file: "admin.key", flag: "--admin-key", variable: "TOLLGATE_ADMIN_KEY", name: "admin key" }
} as const

export type Needs = keyof typeof credentials

/** Where the gateway is, without a slash at the end. */
export const address = Effect.gen(function* () {
  const flag = yield* Url
  const { url } = yield* commandLineVariables
  const text = Option.getOrNull(flag) ?? url ?? defaultUrl
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol)) {
    return yield* new CommandFailed({
      code: "usage",
      message: `"${text}" is no address of a gateway: it has the form ${defaultUrl}`
    })
  }
  return text.replace(/\/+$/, "")
})

/** The gateway's data directory, as the flag or the environment names it. */
export const dataDirectory = Effect.gen(function* () {
  const flag = yield* DataDir
  return Option.getOrNull(flag) ?? (yield* commandLineVariables).dataDir
})

/** The text of a file of the data directory; `null` when it cannot be read. */
const keptIn = Effect.fnUntraced(function* (file: string) {
  const files = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const text = yield* Effect.option(files.readFileString(path.join(yield* dataDirectory, file)))
  return Option.isSome(text) ? Redacted.make(text.value.trim()) : null
})

/** The credential, wherever it is found first; `null` when there is none. */
export const findCredential = Effect.fnUntraced(function* (needs: Needs, url: string) {
  const flag = yield* needs === "apiKey" ? ApiKey : AdminKey
  if (Option.isSome(flag)) return flag.value
  const fromEnvironment = (yield* commandLineVariables)[needs]
  if (fromEnvironment !== null) return fromEnvironment
  return loopback.test(new URL(url).hostname) ? yield* keptIn(credentials[needs].file) : null
})

/** The gateway's client over `fetch`, with what credentials there are given. */
export const clientOf = (options: Parameters<typeof Tollgate.make>[0]): Effect.Effect<TollgateShape> =>
  // @effect-diagnostics-next-line strictEffectProvide:off -- the client's `fetch` is built once for each command, of which there is one
  Tollgate.make(options).pipe(Effect.provide(FetchHttpClient.layer))

/** A client with the credential that the command needs. Fails as wrong usage when there is none. */
export const connect = Effect.fnUntraced(function* (needs: Needs) {
  const url = yield* address
  const credential = yield* findCredential(needs, url)
  if (credential === null) {
    const { file, flag, name, variable } = credentials[needs]
    return yield* new CommandFailed({
      code: "usage",
      message: `There is no ${name} for ${url}.`,
      remedy: `Give it with ${flag} or ${variable}; a gateway on this machine keeps one in ${yield* dataDirectory}/${file}.`
    })
  }
  return yield* clientOf({ url, [needs]: credential })
})
