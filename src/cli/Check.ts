/** `tollgate check`: validates the settings without starting a gateway, and prints every fault. */
import { Effect, Result } from "effect"
import { Command } from "effect/cli"
import type { SettingsShape } from "../Settings.ts"
import { NegativeResult } from "./Failure.ts"
import { count } from "./Figures.ts"
import { answer } from "./Output.ts"
import { facts } from "./Table.ts"

/**
 * This process's settings, read as at start-up. Loaded on demand, because most commands do not need
 * them.
 */
export const settings = Effect.flatMap(
  Effect.promise(() => import("../Settings.ts")),
  ({ Settings }) => Settings.reload
)

const summary = (settings: SettingsShape) => ({
  listens: `http://${settings.host}:${settings.port === 0 ? "any" : settings.port}`,
  environment: settings.environment,
  database: settings.databaseUrl === null ? `embedded, in ${settings.dataDir}` : "Postgres",
  limits_and_cache: settings.redisUrl === null ? "in memory" : "Redis",
  workers: settings.workers,
  providers: settings.providers.map(({ models, slug }) => ({ slug, models: models.length }))
})

export const check = Command.make(
  "check",
  {},
  Effect.fnUntraced(function* () {
    const read = yield* Effect.result(settings)
    if (Result.isFailure(read)) {
      yield* answer({ object: "settings.check", ok: false, faults: read.failure.faults }, read.failure.message)
      return yield* new NegativeResult()
    }
    const summarized = summary(read.success)
    const text = facts([
      ["settings", "valid"],
      ["listens", summarized.listens],
      ["environment", summarized.environment],
      ["database", summarized.database],
      ["limits, cache", summarized.limits_and_cache],
      ["workers", count(summarized.workers)],
      [
        "providers",
        summarized.providers
          .map(({ models, slug }) => `${slug} (${models === 1 ? "1 model" : `${models} models`})`)
          .join(", ")
      ]
    ])
    yield* answer({ object: "settings.check", ok: true, faults: [], ...summarized }, text)
  })
).pipe(
  Command.withDescription("Validate the settings without starting a gateway, and print every fault"),
  Command.withExamples([{ command: "TOLLGATE_CONFIG=new.yaml tollgate check", description: "Before a reload" }])
)
