/**
 * What changed in settings from version to version. `defaults-0.1.0.json` holds the names and
 * defaults of that version: whoever removes a name or changes a default writes an entry in
 * Changes.ts.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync, writeFileSync } from "node:fs"
import { type SettingChange, settingChanges } from "../../src/settings/Changes.ts"
import { membersOf } from "../../src/settings/Differences.ts"
import { concerning, examineSettings } from "../../src/settings/UpgradeCheck.ts"
import { defaultSettings } from "../../src/Settings.ts"
import { sourceOf } from "./source.ts"

const path = new URL("./defaults-0.1.0.json", import.meta.url)

/** Prices and models of the mock provider are data, not settings. */
const defaults = Object.fromEntries([...membersOf(defaultSettings)].filter(([name]) => !name.startsWith("providers.")))

const change = (setting: string, kind: SettingChange["kind"]): SettingChange => ({
  version: "0.2.0",
  setting,
  kind,
  sentence: "It is called otherwise."
})

describe("settings", () => {
  it("of an older version that were removed or have another default have an entry in Changes.ts", () => {
    // TOLLGATE_TEST_RELEASE=1 writes the file, when a version is released.
    if (process.env["TOLLGATE_TEST_RELEASE"] === "1") writeFileSync(path, `${JSON.stringify(defaults, null, 2)}\n`)
    const released = JSON.parse(readFileSync(path, "utf8")) as Readonly<Record<string, string>>
    assert.isAbove(Object.keys(released).length, 40)
    const told = new Set(settingChanges.map(({ setting }) => setting))
    const changed = Object.keys(released).filter((name) => released[name] !== defaults[name])
    assert.deepStrictEqual(
      changed.filter((name) => !told.has(name)),
      []
    )
    for (const { sentence, version } of settingChanges) {
      assert.match(version, /^\d+\.\d+\.\d+$/)
      assert.match(sentence, /^[A-Z].*\.$/)
    }
  })

  it("are told of names that they set and of defaults that they do not set", () => {
    const changes = [
      change("TOLLGATE_OLD", "renamed"),
      change("cache.ttl", "removed"),
      change("routing.retries", "default"),
      change("audit", "default")
    ]
    const of = (...set: ReadonlyArray<string>) => concerning(changes, set).map(({ setting }) => setting)
    assert.deepStrictEqual(of(), ["routing.retries", "audit"])
    assert.deepStrictEqual(of("TOLLGATE_OLD", "routing.retries", "audit.retention_days"), ["TOLLGATE_OLD"])
    assert.deepStrictEqual(of("cache.ttl"), ["cache.ttl", "routing.retries", "audit"])
    assert.deepStrictEqual(of("cache.ttl_seconds", "routing", "audit"), ["routing.retries"])
  })

  it.effect("that this version does not know are faults, and their new name is told", () =>
    Effect.gen(function* () {
      const env = { TOLLGATE_OLD: "1", DATABASE_URL: "postgres://u:p@h/x" }
      const file = "cache:\n  ttl: 5\nrouting:\n  retries: 0\n"
      const changes = [
        change("TOLLGATE_OLD", "renamed"),
        change("cache.ttl", "removed"),
        change("routing.retries", "default"),
        change("TOLLGATE_PORT", "default")
      ]
      const report = yield* examineSettings(sourceOf(env, file), changes)
      assert.deepStrictEqual(
        report.faults.map(({ setting }) => setting),
        ["TOLLGATE_OLD", "cache.ttl"]
      )
      assert.deepStrictEqual(
        report.changes.map(({ setting }) => setting),
        ["TOLLGATE_OLD", "cache.ttl", "TOLLGATE_PORT"]
      )
      assert.isNotNull(report.data?.databaseUrl)
      assert.isNull((yield* examineSettings(sourceOf({ TOLLGATE_PORT: "many" }))).data)
    })
  )
})
