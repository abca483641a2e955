/** What the first start of this version would change, as `tollgate upgrade --check` prints it. */
import { Effect, Option, Redacted, Result } from "effect"
import { version } from "../../api/Version.ts"
import { examineOwnSettings, type SettingsReport } from "../../settings/UpgradeCheck.ts"
import { type DatabaseReport, examineEmbedded, examinePostgres } from "../../store/sql/UpgradeCheck.ts"
import { checkDataDirectory } from "../doctor/MachineCheck.ts"
import { CommandFailed } from "../Failure.ts"
import { DataDir } from "../Globals.ts"

const facts = ({ indexes, isNew, newer, pending }: DatabaseReport) => ({
  is_new: isNew,
  pending_migrations: pending.map(({ changes, growsWith, locks, name, oldVersion, rows }) => ({
    name,
    changes,
    locks,
    old_version: oldVersion,
    table: growsWith ?? null,
    rows
  })),
  newer_migrations: newer,
  indexes
})

/** An unreachable Postgres ends the command: its migrations are the question. */
const onPostgres = (url: Redacted.Redacted) => {
  const { host } = new URL(Redacted.value(url))
  return examinePostgres(url).pipe(
    Effect.mapError(
      ({ message }) =>
        new CommandFailed({
          code: "unreachable",
          message: `Postgres at ${host}: ${message}`,
          remedy: "Is it running there, and are user, password and name in DATABASE_URL right?"
        })
    ),
    Effect.map((report) => ({ at: `Postgres at ${host}`, report, obstacles: [] as ReadonlyArray<string> }))
  )
}

const onDataDir = Effect.fnUntraced(function* (directory: string) {
  const at = `embedded, in ${directory}`
  const finding = yield* checkDataDirectory(directory)
  if (finding.status === "failed") {
    return { at, report: null, obstacles: [`${finding.found}. ${finding.remedy ?? ""}`] }
  }
  const read = yield* Effect.result(examineEmbedded(directory))
  if (Result.isSuccess(read)) return { at, report: read.success, obstacles: [] }
  return { at, report: null, obstacles: [read.failure.message] }
})

const onData = Effect.fnUntraced(function* (data: SettingsReport["data"]) {
  if (data === null) {
    return { at: "not looked at, because the settings that name it are wrong", report: null, obstacles: [] }
  }
  if (data.databaseUrl !== null) return yield* onPostgres(data.databaseUrl)
  return yield* onDataDir(Option.getOrElse(yield* DataDir, () => data.dataDir))
})

export const outlook = Effect.gen(function* () {
  const settings = yield* examineOwnSettings
  const { at, obstacles, report } = yield* onData(settings.data)
  const refusals = [...obstacles, ...(report === null || report.refusal === null ? [] : [report.refusal])]
  const isRefused = settings.faults.length + refusals.length > 0
  const isChanged = settings.changes.length + (report?.pending.length ?? 0) + (report?.indexes.length ?? 0) > 0
  return {
    object: "upgrade.check" as const,
    version,
    verdict: isRefused ? ("refused" as const) : isChanged ? ("changes" as const) : ("none" as const),
    faults: settings.faults,
    changed_settings: settings.changes,
    database_at: at,
    database: report === null || report.refusal !== null ? null : facts(report),
    obstacles: refusals
  }
})

export type Outlook = Effect.Success<typeof outlook>
