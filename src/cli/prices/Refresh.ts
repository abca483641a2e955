/** Fetches a signed list of prices, has it checked, and keeps an accepted one. */
import { Clock, Effect, Result, Stream } from "effect"
import { FetchHttpClient, HttpClient } from "effect/http"
import { renameSync, rmSync, writeFileSync } from "node:fs"
import { ownSlugs, planRefresh } from "../../settings/PriceRefresh.ts"
import { Settings } from "../../Settings.ts"
import { CommandFailed } from "../Failure.ts"

const LIMIT = "15 seconds"
const MOST_BYTES = 4 * 1024 * 1024

const refused = (message: string, remedy: string) => new CommandFailed({ code: "refused", message, remedy })

/** The body, cut at one byte above the limit. A redirect is an answer that is refused. */
const bodyOf = Effect.fnUntraced(function* (url: string) {
  const response = yield* HttpClient.get(url).pipe(
    Effect.provideService(FetchHttpClient.RequestInit, { redirect: "manual" })
  )
  if (response.status !== 200) return { status: response.status, bytes: new Uint8Array() }
  const chunks: Array<Uint8Array> = []
  let size = 0
  yield* response.stream.pipe(
    Stream.takeWhile(() => size <= MOST_BYTES),
    Stream.runForEach((chunk) =>
      Effect.sync(() => {
        size += chunk.length
        chunks.push(chunk)
      })
    )
  )
  return { status: response.status, bytes: Buffer.concat(chunks) }
})

const textOf = Effect.fnUntraced(function* (url: string) {
  const { bytes, status } = yield* bodyOf(url).pipe(
    Effect.timeout(LIMIT),
    Effect.mapError(
      () =>
        new CommandFailed({
          code: "unreachable",
          message: `${url} does not answer.`,
          remedy: "prices.url in the settings file names it."
        })
    )
  )
  if (status !== 200) return yield* refused(`${url} answered ${status}.`, "prices.url has to name the list itself.")
  if (bytes.length > MOST_BYTES)
    return yield* refused(`${url} answered more than ${MOST_BYTES} bytes.`, "Nothing was changed.")
  return new TextDecoder().decode(bytes)
})

export const fetched = Effect.gen(function* () {
  const source = yield* Settings.own
  const settings = yield* Settings.load(source).pipe(
    Effect.mapError(({ message }) => refused(message, "`tollgate check` tells every fault."))
  )
  const { prices } = settings
  if (prices === undefined) {
    return yield* new CommandFailed({
      code: "usage",
      message: "The settings name no list of prices.",
      remedy: "Set prices.url and prices.public_key in the settings file."
    })
  }
  const text = yield* textOf(prices.url)
  const own = yield* ownSlugs(source)
  const plan = yield* planRefresh({ ...settings, prices }, text, {
    nowMs: yield* Clock.currentTimeMillis,
    own,
    readFile: source.readFile
  })
  if (Result.isFailure(plan))
    return yield* refused(`The list of ${prices.url} ${plan.failure}.`, "Nothing was changed.")
  return { file: prices.file, text, plan: plan.success }
  // @effect-diagnostics-next-line strictEffectProvide:off -- the one place of a command that fetches prices
}).pipe(Effect.provide(FetchHttpClient.layer))

/** Replaces the accepted list whole, or not at all. */
export const accept = (file: string, text: string): Effect.Effect<void, CommandFailed> => {
  const partial = `${file}.${process.pid}.partial`
  return Effect.try({
    try: () => {
      writeFileSync(partial, text, { mode: 0o644 })
      renameSync(partial, file)
    },
    catch: (cause) =>
      refused(
        `${file} cannot be written: ${cause instanceof Error ? cause.message : String(cause)}`,
        "prices.file names it."
      )
  }).pipe(Effect.tapError(() => Effect.sync(() => rmSync(partial, { force: true }))))
}
