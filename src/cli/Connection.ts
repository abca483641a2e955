/**
 * Selects the gateway and the credentials of a command: from flags, then the environment, then, for
 * a gateway on this machine, the files that its start left in the data directory. Credentials from
 * those files are never sent to another machine.
 */
import { Effect, FileSystem, Option, Path, Redacted } from "effect"
import type { Tollgate, TollgateShape } from "../client/Client.ts"
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

/** Loaded on demand: help and faults of the line need neither the contract nor HTTP. */
const loaded = Effect.promise(() => import("../client/Client.ts"))
const http = Effect.promise(() => import("effect/http/FetchHttpClient"))

/** The gateway's address, without a trailing slash and without `/v1`. */
export const address = Effect.gen(function* () {
  const flag = yield* Url
  const { url } = yield* commandLineVariables
  const text = Option.getOrNull(flag) ?? url ?? defaultUrl
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol)) {
    return yield* new CommandFailed({
      code: "usage",
      message: `"${text}" is not a gateway's address: use the form ${defaultUrl}`
    })
  }
  const { gatewayAddress } = yield* Effect.promise(() => import("../client/Exchange.ts"))
  return gatewayAddress(text)
})

/** The gateway's data directory, from the flag or the environment. */
export const dataDirectory = Effect.gen(function* () {
  const flag = yield* DataDir
  return Option.getOrNull(flag) ?? (yield* commandLineVariables).dataDir
})

/** The content of a file in the data directory, or `null` if it cannot be read. */
const keptIn = Effect.fnUntraced(function* (file: string) {
  const files = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const text = yield* Effect.option(files.readFileString(path.join(yield* dataDirectory, file)))
  return Option.isSome(text) ? Redacted.make(text.value.trim()) : null
})

/** The first credential found, or `null`. */
export const findCredential = Effect.fnUntraced(function* (needs: Needs, url: string) {
  const flag = yield* needs === "apiKey" ? ApiKey : AdminKey
  if (Option.isSome(flag)) return flag.value
  const fromEnvironment = (yield* commandLineVariables)[needs]
  if (fromEnvironment !== null) return fromEnvironment
  return loopback.test(new URL(url).hostname) ? yield* keptIn(credentials[needs].file) : null
})

/** The gateway's client over `fetch`, with the given credentials. */
export const clientOf = Effect.fnUntraced(function* (
  options: Parameters<typeof Tollgate.make>[0]
): Effect.fn.Return<TollgateShape> {
  const { Tollgate } = yield* loaded
  const { layer } = yield* http
  // @effect-diagnostics-next-line strictEffectProvide:off -- the client's `fetch` is built once for each command, of which there is one
  return yield* Tollgate.make(options).pipe(Effect.provide(layer))
})

/** A client with the credential that the command needs. Fails as a usage error if there is none. */
export const connect = Effect.fnUntraced(function* (needs: Needs) {
  const url = yield* address
  const credential = yield* findCredential(needs, url)
  if (credential === null) {
    const { file, flag, name, variable } = credentials[needs]
    return yield* new CommandFailed({
      code: "usage",
      message: `No ${name} found for ${url}.`,
      remedy: `Set ${flag} or ${variable}; a gateway on this machine keeps one in ${yield* dataDirectory}/${file}.`
    })
  }
  return yield* clientOf({ url, [needs]: credential })
})

/**
 * A client for commands that serve admins and clients: with the admin key if one is found, unless
 * only `--key` is given.
 */
export const connectAs = Effect.gen(function* () {
  const url = yield* address
  const isOwn = Option.isSome(yield* ApiKey) && Option.isNone(yield* AdminKey)
  const adminKey = isOwn ? null : yield* findCredential("adminKey", url)
  const isAdmin = adminKey !== null
  return { isAdmin, client: isAdmin ? yield* clientOf({ url, adminKey }) : yield* connect("apiKey") }
})
