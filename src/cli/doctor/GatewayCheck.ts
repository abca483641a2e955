/**
 * Checks a running gateway by its own reports: health, circuits, version, clock, and whether it
 * accepts the API key that commands find.
 */
import { Clock, Effect, Result } from "effect"
import type { HealthReport } from "../../api/Health.ts"
import { version } from "../../api/Version.ts"
import { address, clientOf, findCredential } from "../Connection.ts"
import { clockFinding, failed, type Finding, ok, warning } from "./Finding.ts"

const LIMIT = "5 seconds"

const health = ({ dependencies, providers, status }: HealthReport, url: string): ReadonlyArray<Finding> => {
  const broken = Object.entries(dependencies).flatMap(([name, { status }]) => (status === "ok" ? [] : [name]))
  const down = providers.flatMap(({ slug, status }) => (status === "ok" ? [] : [`${slug} is ${status}`]))
  return [
    broken.length === 0
      ? ok("gateway", `${url} is ${status}`)
      : failed("gateway", `${url}: no answer from ${broken.join(", ")}`, "See the findings on the database and Redis."),
    ...(down.length === 0
      ? []
      : [warning("circuits", down.join(", "), "The gateway retries by itself. Its log tells why calls failed.")])
  ]
}

const credential = Effect.fnUntraced(function* (url: string) {
  const apiKey = yield* findCredential("apiKey", url)
  if (apiKey === null) {
    return warning("API key", "not found", "Create one with `tollgate keys create`, and put it into TOLLGATE_API_KEY.")
  }
  const { ownKey } = yield* clientOf({ url, apiKey })
  const ownKeyResult = yield* Effect.result(ownKey.get())
  return Result.isSuccess(ownKeyResult)
    ? ok("API key", `${ownKeyResult.success.name}, tier ${ownKeyResult.success.tier}`)
    : failed("API key", ownKeyResult.failure.message, "Create another with `tollgate keys create`.")
})

export const checkGateway = Effect.fnUntraced(function* () {
  const url = yield* address
  const client = yield* clientOf({ url })
  let date: string | null = null
  const onHead = ({ headers }: { readonly headers: Readonly<Record<string, string>> }) => {
    date = headers["date"] ?? null
  }
  const reported = yield* client.health.report({}, { onHead }).pipe(Effect.timeout(LIMIT), Effect.result)
  if (Result.isFailure(reported)) {
    return [warning("gateway", reported.failure.message, "Start one with `tollgate start`, or set another with --url.")]
  }
  const nowMs = yield* Clock.currentTimeMillis
  // The header has whole seconds, so it is half a second behind on average.
  const driftMs = date === null ? null : Date.parse(date) + 500 - nowMs
  const report = reported.success
  return [
    ...health(report, url),
    report.version === version
      ? ok("version", `${version}, the same as the gateway's`)
      : warning(
          "version",
          `${version} here, ${report.version} there`,
          "Use the command line of the gateway's version."
        ),
    ...(driftMs === null ? [] : [clockFinding("the gateway's", driftMs)]),
    yield* credential(url)
  ]
})
