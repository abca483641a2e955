/** `tollgate check`: whether the settings are in order, without a start; if not, everything that is wrong with them. */
import { Effect, Result } from "effect"
import { Command } from "effect/cli"
import { type SettingsShape } from "../Settings.ts"
import { Unwell } from "./Failure.ts"
import { count } from "./Figures.ts"
import { answer } from "./Output.ts"
import { facts } from "./Table.ts"

/** This process's settings, read as a start reads them. Loaded when it is asked for: most commands need none of it. */
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
      return yield* new Unwell()
    }
    const told = summary(read.success)
    const text = facts([
      ["settings", "in order"],
      ["listens", told.listens],
      ["environment", told.environment],
      ["database", told.database],
      ["limits, cache", told.limits_and_cache],
      ["workers", count(told.workers)],
      ["providers", told.providers.map(({ models, slug }) => `${slug} (${models} models)`).join(", ")]
    ])
    yield* answer({ object: "settings.check", ok: true, faults: [], ...told }, text)
  })
).pipe(Command.withDescription("Validate the settings without a start, and print every fault"))
