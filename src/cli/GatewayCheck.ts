/** How a running gateway is, by its own word: health, circuits, version and clock, and whether it takes the API key that commands find. */
import { Clock, Effect, Result } from "effect"
import { version } from "../api/Api.ts"
import { type HealthReport } from "../api/Health.ts"
import { address, clientOf, findCredential } from "./Connection.ts"
import { clockFinding, failed, type Finding, ok, warning } from "./Finding.ts"

const LIMIT = "5 seconds"

const health = ({ dependencies, providers, status }: HealthReport, url: string): ReadonlyArray<Finding> => {
  const broken = Object.entries(dependencies).flatMap(([name, { status }]) => (status === "ok" ? [] : [name]))
  const down = providers.flatMap(({ slug, status }) => (status === "ok" ? [] : [`${slug} is ${status}`]))
  return [
    broken.length === 0
      ? ok("gateway", `${url} is ${status}`)
      : failed("gateway", `${url}: no answer from ${broken.join(", ")}`, "See what is said of the database and Redis."),
    ...(down.length === 0
      ? []
      : [warning("circuits", down.join(", "), "It is tried again by itself; the gateway's log says why calls failed.")])
  ]
}

const credential = Effect.fnUntraced(function* (url: string) {
  const apiKey = yield* findCredential("apiKey", url)
  if (apiKey === null) {
    return warning(
      "API key",
      "there is none",
      "Make one with `tollgate keys create`, and put it into TOLLGATE_API_KEY."
    )
  }
  const { ownKey } = yield* clientOf({ url, apiKey })
  const told = yield* Effect.result(ownKey.get())
  return Result.isSuccess(told)
    ? ok("API key", `${told.success.name}, tier ${told.success.tier}`)
    : failed("API key", told.failure.message, "Make another with `tollgate keys create`.")
})

export const checkGateway = Effect.fnUntraced(function* () {
  const url = yield* address
  const client = yield* clientOf({ url })
  let date: string | null = null
  const onHead = ({ headers }: { readonly headers: Readonly<Record<string, string>> }) => {
    date = headers["date"] ?? null
  }
  const asked = yield* client.health.report({}, { onHead }).pipe(Effect.timeout(LIMIT), Effect.result)
  if (Result.isFailure(asked)) {
    return [warning("gateway", asked.failure.message, "Start one with `tollgate start`, or name another with --url.")]
  }
  const nowMs = yield* Clock.currentTimeMillis
  // The header has no fractions: half a second is what it leaves out on average.
  const driftMs = date === null ? null : Date.parse(date) + 500 - nowMs
  const report = asked.success
  return [
    ...health(report, url),
    report.version === version
      ? ok("version", `${version}, as the gateway's`)
      : warning(
          "version",
          `${version} here, ${report.version} there`,
          "Use the command line of the gateway's version."
        ),
    ...(driftMs === null ? [] : [clockFinding("the gateway's", driftMs)]),
    yield* credential(url)
  ]
})
