/**
 * The packages that `scripts/test` installs, and its announcement. It runs in a temporary tree,
 * with a PATH whose apt-get, id and sudo only record their calls, and with a vitest that prints its
 * arguments.
 */
import { spawnSync } from "node:child_process"
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, dirname, join } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"

const trees: Array<string> = []
afterAll(() => trees.forEach((tree) => rmSync(tree, { recursive: true })))

const script = (file: string, text: string): void => {
  writeFileSync(file, `#!/bin/sh\n${text}\n`)
  chmodSync(file, 0o755)
}

/** The machine's own tools that the scripts use. */
const tools = "cat chmod cmp cp cut dirname du find grep head mkdir mktemp rm sed".split(" ")
const findTool = (name: string): string => {
  const found = (process.env["PATH"] ?? "").split(delimiter).map((directory) => join(directory, name))
  return found.find((file) => existsSync(file)) ?? assert.fail(`no ${name}`)
}

interface Machine {
  readonly uid: number
  /** Programs that are installed already. */
  readonly programs?: ReadonlyArray<string>
  /** A package that apt-get does not know. */
  readonly unknown?: string
  readonly hasPackages?: boolean
  /** What npm says before it fails. */
  readonly npmFails?: string
  /** What `uname -sm` prints. By default it is a machine without Codex. */
  readonly kind?: string
}

/** A checkout on such a machine. */
const makeTree = (machine: Machine): string => {
  const tree = mkdtempSync(join(tmpdir(), "tollgate-installs-"))
  trees.push(tree)
  const put = (path: string, text: string) => {
    mkdirSync(dirname(join(tree, path)), { recursive: true })
    writeFileSync(join(tree, path), text)
  }
  for (const name of ["start", "node-flags", "test", "apt.sh", "install.sh", "console.sh", "codex.sh"]) {
    put(`scripts/${name}`, readFileSync(join("scripts", name), "utf8").replaceAll("/usr/", `${tree}/usr/`))
  }
  mkdirSync(join(tree, "usr/sbin"), { recursive: true })
  for (const name of ["package.json", "package-lock.json"]) put(`scripts/clients/codex/${name}`, name)
  put("package-lock.json", "{}")
  put("node_modules/.installed-lock.json", machine.hasPackages === false ? "other" : "{}")
  put(
    "node_modules/vitest/vitest.mjs",
    `import { writeFileSync } from "node:fs"
    writeFileSync("ran", process.argv.slice(2).join(" "))
    writeFileSync(process.env.TEST_COUNT_FILE, "1 passed, 0 failed\\n")`
  )
  mkdirSync(join(tree, "node_modules/.bin"))
  symlinkSync(process.execPath, join(tree, "node_modules/.bin/node"))
  put("dist/console/index.html", "")
  mkdirSync(join(tree, "bin"))
  for (const tool of tools) symlinkSync(findTool(tool), join(tree, "bin", tool))
  for (const program of machine.programs ?? []) script(join(tree, "bin", program), "")
  script(join(tree, "bin/uname"), `echo "${machine.kind ?? "Plan9 vax"}"`)
  const npmEnds = machine.npmFails === undefined ? "" : `; echo "npm error code ${machine.npmFails}" >&2; exit 1`
  script(join(tree, "bin/npm"), `echo "npm $*" >>"${tree}/calls"${npmEnds}`)
  script(join(tree, "bin/sleep"), `exec ${findTool("sleep")} 0.02`)
  script(join(tree, "bin/id"), `echo ${machine.uid}`)
  script(join(tree, "bin/sudo"), `echo "sudo $*" >>"${tree}/calls"`)
  const refuse = machine.unknown === undefined ? "" : `case "$*" in *${machine.unknown}*) exit 100 ;; esac`
  script(join(tree, "bin/apt-get"), `echo "CALLED apt-get $*"; echo "apt-get $*" >>"${tree}/calls"; ${refuse}`)
  return tree
}

/** Runs `scripts/test` in such a tree, without this process's settings. */
const runIn = (tree: string, ...args: ReadonlyArray<string>) => runScript("test", tree, ...args)

const runScript = (name: "start" | "test", tree: string, ...args: ReadonlyArray<string>) => {
  const { status, stdout, stderr } = spawnSync("/bin/sh", [join(tree, "scripts", name), ...args], {
    env: { PATH: join(tree, "bin"), TMPDIR: tmpdir() },
    encoding: "utf8"
  })
  const read = (name: string) => (existsSync(join(tree, name)) ? readFileSync(join(tree, name), "utf8") : undefined)
  return { status, stdout, stderr, calls: read("calls"), ran: read("ran") }
}

const everything = ["initdb", "postgres", "redis-server", "chromium", "promtool"]
const packages = ["postgresql", "redis-server", "chromium", "prometheus"]
const reporters = "--reporter=default --reporter=./scripts/testCount.ts"

describe("scripts/test", () => {
  it("says as root which system packages it installs and why, before it does", () => {
    const { status, stdout, stderr, calls, ran } = runIn(makeTree({ uid: 0 }), "test/store")
    const before = stderr.slice(0, stderr.indexOf("CALLED"))
    for (const name of packages) assert.match(before, new RegExp(`^  ${name} +\\S.+`, "m"))
    assert.include(before, "--no-install")
    const install = "apt-get update -qq\napt-get install -y -qq --no-install-recommends"
    assert.strictEqual(calls, `${install} postgresql redis-server\n${install} chromium\n${install} prometheus\n`)
    assert.strictEqual(ran, `run ${reporters} test/store`)
    assert.strictEqual(stdout, "1 passed, 0 failed\n")
    assert.strictEqual(status, 0)
  })

  it("says and installs only what is missing", () => {
    const tree = makeTree({ uid: 0, programs: everything.filter((program) => program !== "promtool") })
    const { status, stderr, calls } = runIn(tree)
    assert.match(stderr, /^ {2}prometheus /m)
    assert.notMatch(stderr, /postgresql|redis|chromium/)
    assert.strictEqual(calls, "apt-get update -qq\napt-get install -y -qq --no-install-recommends prometheus\n")
    assert.strictEqual(status, 0)
  })

  it("says nothing of packages where none is missing", () => {
    const { status, stderr, calls } = runIn(makeTree({ uid: 0, programs: everything }))
    assert.deepStrictEqual({ status, stderr, calls }, { status: 0, stderr: "", calls: undefined })
  })

  it("goes on without what only some tests need, when apt-get does not have it", () => {
    const { status, stderr, calls } = runIn(makeTree({ uid: 0, unknown: "chromium" }))
    assert.include(stderr, "Going on without chromium.")
    assert.include(calls ?? "", "prometheus")
    assert.strictEqual(status, 0)
  })

  it("installs nothing as another user, uses no sudo, and says how to install it", () => {
    const { status, stderr, calls, ran } = runIn(makeTree({ uid: 1000 }))
    assert.include(stderr, `apt-get install --no-install-recommends ${packages.join(" ")}\n`)
    assert.include(stderr, "TOLLGATE_TEST_DATABASE_URL")
    assert.deepStrictEqual({ status, calls, ran }, { status: 1, calls: undefined, ran: undefined })
  })

  it("changes nothing with --no-install: it says what is missing and how to install it, and fails", () => {
    const tree = makeTree({ uid: 0, hasPackages: false })
    const files = () => readdirSync(tree, { recursive: true, encoding: "utf8" }).sort()
    const before = files()
    const { status, stdout, stderr } = runIn(tree, "--no-install", "test/store")
    for (const name of ["npm packages", ...packages]) assert.match(stderr, new RegExp(`^  ${name} +\\S.+`, "m"))
    assert.include(stderr, "npm ci")
    assert.include(stderr, `apt-get install --no-install-recommends ${packages.join(" ")}\n`)
    assert.deepStrictEqual(files(), before)
    assert.deepStrictEqual({ status, stdout }, { status: 1, stdout: "" })
  })

  it("installs Codex once, where a run includes its tests", () => {
    const kind = "Linux x86_64"
    const installed = "npm ci --ignore-scripts --no-audit --no-fund --loglevel=error\n"
    for (const [args, calls] of [
      [[], installed],
      [["test/clients/codex.test.ts"], installed],
      [["-t", "x"], installed],
      [["test/store"], undefined]
    ] as const) {
      const tree = makeTree({ uid: 0, programs: everything, kind })
      assert.strictEqual(runIn(tree, ...args).calls, calls)
      assert.strictEqual(runIn(tree, ...args).calls, calls)
    }
    assert.isUndefined(runIn(makeTree({ uid: 0, programs: everything })).calls)
    const { status, stderr } = runIn(makeTree({ uid: 0, programs: everything, kind }), "--no-install")
    assert.match(stderr, /^ {2}codex +\S.+/m)
    assert.include(stderr, "TOLLGATE_TEST_CODEX")
    assert.strictEqual(status, 1)
  })

  it("runs the tests with --no-install where nothing is missing", () => {
    const { status, ran } = runIn(makeTree({ uid: 0, programs: everything }), "--no-install", "test/a b.ts", "-t", "x")
    assert.deepStrictEqual({ status, ran }, { status: 0, ran: `run ${reporters} test/a b.ts -t x` })
  })
})

describe("scripts/start", () => {
  /** A checkout without packages, or with those of `lock` under the markers of install.sh. */
  const treeWith = (markers: Readonly<Record<string, string>>, machine: Partial<Machine> = {}) => {
    const tree = makeTree({ uid: 0, ...machine })
    rmSync(join(tree, "node_modules/.installed-lock.json"))
    for (const [name, lock] of Object.entries(markers)) writeFileSync(join(tree, "node_modules", name), lock)
    mkdirSync(join(tree, "src"))
    writeFileSync(join(tree, "src/main.ts"), `console.log("started", process.env.TOLLGATE_PORT)`)
    return tree
  }
  const installs = (tree: string) => {
    const { calls, status, stdout } = runScript("start", tree, "--port", "0")
    assert.deepStrictEqual({ status, stdout }, { status: 0, stdout: "started 0\n" })
    return (calls ?? "").match(/^npm ci .*$/m)?.[0].includes("--omit=dev") ?? null
  }

  it("takes a port, tells its usage and version, and starts nothing with an argument that it does not know", () => {
    const tree = treeWith({ ".installed-lock-run.json": "{}" })
    writeFileSync(join(tree, "package.json"), '{\n  "name": "tollgate",\n  "version": "1.2.3",\n  "private": true\n}\n')
    const run = (...args: ReadonlyArray<string>) => {
      const { status, stderr, stdout } = runScript("start", tree, ...args)
      return { status, said: (stdout + stderr).split("\n", 1)[0] }
    }
    const usage = "Usage: ./scripts/start [--port PORT]"
    assert.deepStrictEqual(run("--port=9000"), { status: 0, said: "started 9000" })
    assert.deepStrictEqual(run("--help"), { status: 0, said: usage })
    assert.deepStrictEqual(run("--version"), { status: 0, said: "1.2.3" })
    assert.deepStrictEqual(run("--prot", "9000"), { status: 2, said: "scripts/start: unknown argument --prot" })
    assert.deepStrictEqual(run("--port"), { status: 2, said: "scripts/start: --port needs a number" })
  })

  it("installs what runs the gateway, once", () => {
    const tree = treeWith({})
    assert.strictEqual(installs(tree), true)
    rmSync(join(tree, "calls"))
    assert.strictEqual(installs(tree), null)
  })

  it("is content with all packages, and renews all of them where all were there", () => {
    assert.strictEqual(installs(treeWith({ ".installed-lock.json": "{}" })), null)
    assert.strictEqual(installs(treeWith({ ".installed-lock.json": "another lock" })), false)
    assert.strictEqual(installs(treeWith({ ".installed-lock-run.json": "another lock" })), true)
  })

  it("leaves the tests' packages to scripts/test", () => {
    const { calls } = runIn(treeWith({ ".installed-lock-run.json": "{}" }))
    assert.match(calls ?? "", /^npm ci .*/m)
    assert.notInclude(calls ?? "", "--omit=dev")
  })

  it("says in one line why npm failed where the network or the disk is the reason", () => {
    const said = (npmFails: string) => {
      const { status, stderr, stdout } = runScript("start", treeWith({}, { npmFails }))
      assert.deepStrictEqual({ status, stdout }, { status: 1, stdout: "" })
      return stderr
    }
    assert.include(said("ENOTFOUND"), "npm cannot reach its registry (ENOTFOUND).\nCheck the network")
    assert.notInclude(said("ECONNREFUSED"), "npm error")
    assert.include(said("ENOSPC"), "The disk is full (ENOSPC)")
    const other = said("EINTEGRITY")
    assert.include(other, "npm error code EINTEGRITY\n")
    assert.include(other, "npm ci failed; its message is above.")
  })
})
