/**
 * `tollgate upgrade --check`: what the first start of this version would change, before it is
 * started. The new version runs it, with the settings and the database of the old one.
 */
import { Effect } from "effect"
import { Command } from "effect/cli"
import { version } from "../../api/Version.ts"
import { ChangesFound, CommandFailed, NegativeResult } from "../Failure.ts"
import { switchFlag } from "../Flags.ts"
import { answer } from "../Output.ts"
import { withProgress } from "../Progress.ts"
import { type Page, page } from "../Table.ts"
import type { Outlook } from "./Outlook.ts"

const counted = (count: number, thing: string, things = `${thing}s`): string =>
  `${count} ${count === 1 ? thing : things}`

const migrationsOf = ({ database }: Outlook): ReadonlyArray<string> => {
  if (database === null) return []
  if (database.is_new) return ["The database is empty: the first start creates it."]
  if (database.pending_migrations.length === 0) return ["It has run every migration of this version."]
  return [
    `${counted(database.pending_migrations.length, "migration")} would run at the start, in one transaction:`,
    ...database.pending_migrations.flatMap(({ changes, locks, name, old_version, rows, table }) => [
      "",
      `  ${name}`,
      `    ${changes}`,
      `    ${locks}${rows === null ? "" : ` (${table} has about ${rows.toLocaleString("en-US")} rows.)`}`,
      `    ${old_version}`
    ])
  ]
}

const notesOf = ({ database }: Outlook): ReadonlyArray<string> => [
  ...(database?.newer_migrations.length
    ? [
        `It has run migrations of a newer version: ${database.newer_migrations.join(", ")}. This version runs beside ` +
          "them, because migrations only add."
      ]
    : []),
  ...(database?.indexes.length
    ? [`After the start ${counted(database.indexes.length, "index", "indexes")} would be built while requests run.`]
    : [])
]

const settingsOf = ({ changed_settings, faults }: Outlook): ReadonlyArray<string> =>
  faults.length + changed_settings.length === 0
    ? ["This version accepts them, and none of them means something else."]
    : [
        ...faults.map(({ expected, problem, setting }) => `${setting} ${problem}; expected ${expected}`),
        ...changed_settings.map(
          ({ kind, sentence, setting, version }) => `${setting} (${kind} in ${version}): ${sentence}`
        )
      ]

const verdicts = {
  none: "Nothing would change.",
  changes: "This version would start, and change what is listed.",
  refused: "This version would not start."
} as const

const rendered = (outlook: Outlook): Page =>
  page(
    `tollgate ${outlook.version}, started with these settings on this database:`,
    "",
    "Settings",
    ...settingsOf(outlook).map((line) => `  ${line}`),
    "",
    `Database: ${outlook.database_at}`,
    ...[...outlook.obstacles, ...migrationsOf(outlook), ...notesOf(outlook)].map((line) =>
      line === "" ? "" : `  ${line}`
    ),
    "",
    verdicts[outlook.verdict]
  )

export const upgrade = Command.make(
  "upgrade",
  { check: switchFlag("check", "Say what the first start of this version would change. Changes nothing") },
  Effect.fnUntraced(function* ({ check }) {
    if (!check) {
      return yield* new CommandFailed({
        code: "usage",
        message: "A gateway is upgraded by starting a newer version in its place.",
        remedy: `See what this version (${version}) would change with \`tollgate upgrade --check\`.`
      })
    }
    const { outlook } = yield* Effect.promise(() => import("./Outlook.ts"))
    const found = yield* outlook.pipe(withProgress("reading the database"))
    yield* answer(found, rendered(found))
    if (found.verdict === "refused") return yield* new NegativeResult()
    if (found.verdict === "changes") return yield* new ChangesFound()
  })
).pipe(
  Command.withDescription("Say what the first start of this version would change in database and settings"),
  Command.withExamples([
    { command: "tollgate upgrade --check" },
    {
      command: "tollgate upgrade --check --json",
      description: "Exits with 0: nothing; 4: changes; 1: it would not start"
    }
  ])
)
