/** The settings file is replaced at once, with a copy, and not over the change of another. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import {
  chmodSync,
  lstatSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync
} from "node:fs"
import { join } from "node:path"
import { replace } from "../../../src/settings/file/SettingsWrite.ts"
import { temporaryDirectory } from "../../support/Gateway.ts"

const refusal = (file: string, before: string | null) =>
  Effect.map(Effect.flip(replace(file, before, "new")), ({ code, reason }) => [reason, code])

it.live("keeps mode, link and a copy of the file, and leaves nothing else", () =>
  Effect.gen(function* () {
    const directory = yield* temporaryDirectory
    const [file, link] = [join(directory, "real.yaml"), join(directory, "tollgate.yaml")]
    writeFileSync(file, "old")
    chmodSync(file, 0o640)
    symlinkSync(file, link)
    const copy = yield* replace(link, "old", "new")
    assert.isTrue(lstatSync(link).isSymbolicLink())
    assert.deepStrictEqual([readFileSync(file, "utf8"), statSync(file).mode & 0o777], ["new", 0o640])
    assert.strictEqual(readFileSync(copy ?? "", "utf8"), "old")
    assert.lengthOf(readdirSync(directory), 3)
    const made = join(directory, "made.yaml")
    assert.strictEqual(yield* replace(made, null, "first"), null)
    assert.deepStrictEqual([readFileSync(made, "utf8"), statSync(made).mode & 0o777], ["first", 0o600])
  })
)

it.live("refuses a file that changed, that another process writes, or that cannot be written", () =>
  Effect.gen(function* () {
    const directory = yield* temporaryDirectory
    const file = join(directory, "tollgate.yaml")
    writeFileSync(file, "theirs")
    assert.deepStrictEqual(yield* refusal(file, "old"), ["changed", ""])
    const born = join(directory, "born.yaml")
    writeFileSync(born, "theirs")
    assert.deepStrictEqual(yield* refusal(born, null), ["changed", ""])
    writeFileSync(`${file}.lock`, "")
    assert.deepStrictEqual(yield* refusal(file, "theirs"), ["busy", "EEXIST"])
    // The lock of a process that died.
    utimesSync(`${file}.lock`, 0, 0)
    yield* replace(file, "theirs", "new")
    assert.strictEqual(readFileSync(file, "utf8"), "new")
    assert.deepStrictEqual(yield* refusal(join(directory, "gone", "tollgate.yaml"), null), ["unwritable", "ENOENT"])
    const [reason] = yield* refusal("/proc/version", readFileSync("/proc/version", "utf8"))
    assert.strictEqual(reason, "unwritable")
    assert.notInclude(readdirSync(directory).join(), ".new")
  })
)
