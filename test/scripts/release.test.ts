/**
 * What a release consists of: the service of systemd, the bill of materials, and the workflow that
 * makes them. What needs a systemd that runs, or GitHub, is not run here.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Yaml from "effect/encoding/Yaml"
import { execFileSync, spawnSync } from "node:child_process"
import { accessSync, constants, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { defaultSettings, Settings } from "../../src/Settings.ts"
import { Environment } from "../../src/settings/Environment.ts"
import { sourceOf } from "../settings/source.ts"

const root = fileURLToPath(new URL("../../", import.meta.url)).replace(/\/$/, "")
const read = (path: string): string => readFileSync(join(root, path), "utf8")

const manifest = JSON.parse(read("package.json")) as {
  readonly name: string
  readonly version: string
  readonly scripts: Readonly<Record<string, string>>
  readonly dependencies: Readonly<Record<string, string>>
  readonly optionalDependencies: Readonly<Record<string, string>>
}

describe("deploy/systemd", () => {
  const unit = read("deploy/systemd/tollgate.service")
  const valuesOf = (name: string): ReadonlyArray<string> =>
    unit.split("\n").flatMap((line) => (line.startsWith(`${name}=`) ? [line.slice(name.length + 1)] : []))
  const here = (path: string): string => path.replace("/opt/tollgate", root)

  /** The variables of `NAME=value` lines. */
  const variablesOf = (lines: ReadonlyArray<string>): Readonly<Record<string, string>> =>
    Object.fromEntries(
      lines
        .flatMap((line) => line.split(" "))
        .flatMap((word) => {
          const at = word.indexOf("=")
          return at === -1 ? [] : [[word.slice(0, at), word.slice(at + 1)]]
        })
    )
  const set = variablesOf(valuesOf("Environment"))
  const example = read("deploy/systemd/tollgate.env")
  const offered = variablesOf(example.split("\n").map((line) => line.replace(/^#(?=[A-Z_]+=)/, "")))

  it("starts the Node and the program of the clone, with the flags of scripts/start", () => {
    const [program = "", ...args] = (valuesOf("ExecStart")[0] ?? "").split(" ")
    accessSync(here(program), constants.X_OK)
    assert.deepStrictEqual(args.slice(0, -1), read("scripts/node-flags").trim().split("\n"))
    assert.isTrue(existsSync(here(args.at(-1) ?? "")))
    const documented = valuesOf("Documentation")[0]?.replace("file://", "") ?? ""
    assert.isTrue(existsSync(here(documented)))
  })

  it("sets variables that exist, and writes only where systemd made directories", () => {
    const known = [...Object.keys(Environment.fields), "OPENAI_API_KEY"]
    const ofNode = ["NODE_ENV", "NODE_COMPILE_CACHE", "MALLOC_ARENA_MAX"]
    for (const name of Object.keys({ ...set, ...offered })) assert.include([...known, ...ofNode], name)
    assert.strictEqual(set["TOLLGATE_DATA_DIR"], `/var/lib/${valuesOf("StateDirectory")[0]}`)
    assert.strictEqual(set["NODE_COMPILE_CACHE"], `/var/cache/${valuesOf("CacheDirectory")[0]}`)
    assert.strictEqual(set["TOLLGATE_CONFIG"], `/etc/${valuesOf("ConfigurationDirectory")[0]}/tollgate.yaml`)
    assert.deepStrictEqual(valuesOf("EnvironmentFile"), ["/etc/tollgate/tollgate.env"])
  })

  it.effect("gives the gateway settings that production takes, once the keys are filled in", () =>
    Effect.gen(function* () {
      const filled = { TOLLGATE_ADMIN_KEY: "4f1c9a7e03b2d8f65a1e7c94b0d3f682", OPENAI_API_KEY: "sk-nobody-calls-it" }
      const file = read("deploy/systemd/tollgate.yaml")
      const source = sourceOf({ ...set, ...filled }, file, set["TOLLGATE_CONFIG"])
      const { dataDir, environment } = yield* Settings.load(source)
      assert.deepStrictEqual([environment, dataDir], ["production", "/var/lib/tollgate"])
      // As it is delivered it does not start, because nobody would answer.
      const faults = yield* Effect.flip(
        Settings.load(
          sourceOf({ ...set, ...variablesOf(["TOLLGATE_ADMIN_KEY=", "OPENAI_API_KEY="]) }, file, set["TOLLGATE_CONFIG"])
        )
      )
      assert.include(faults.message, "providers is empty")
    })
  )

  it("is stopped later than its requests, reloaded by SIGHUP, and restarted", () => {
    const waits = defaultSettings.shutdownGraceMs + defaultSettings.drainTimeoutMs
    assert.isAbove(Number(valuesOf("TimeoutStopSec")[0]) * 1_000, waits)
    assert.deepStrictEqual(valuesOf("ExecReload"), ["/bin/kill -HUP $MAINPID"])
    assert.deepStrictEqual(valuesOf("Restart"), ["always"])
    assert.isAtLeast(Number(valuesOf("LimitNOFILE")[0]), 2 * defaultSettings.server.maxConnections)
  })

  it("has no privilege, and may write nothing else", () => {
    for (const [name, value] of Object.entries({
      User: "tollgate",
      NoNewPrivileges: "yes",
      CapabilityBoundingSet: "",
      ProtectSystem: "strict",
      ProtectHome: "yes",
      PrivateTmp: "yes",
      PrivateDevices: "yes",
      StateDirectoryMode: "0700",
      UMask: "0077"
    })) {
      assert.deepStrictEqual(valuesOf(name), [value], name)
    }
    assert.lengthOf(valuesOf("ReadWritePaths"), 0)
  })

  const analyze = (...args: ReadonlyArray<string>) => spawnSync("systemd-analyze", args, { encoding: "utf8" })
  it.skipIf(analyze("--version").status !== 0)("passes systemd's own checks", () => {
    const directory = mkdtempSync(join(tmpdir(), "tollgate-unit-"))
    const path = join(directory, "tollgate.service")
    writeFileSync(path, here(unit).replaceAll("/opt/tollgate", root))
    const verified = analyze("verify", path)
    assert.deepStrictEqual([verified.status, verified.stderr], [0, ""])
    // Ten is a service without any protection, in tenths here.
    assert.strictEqual(analyze("security", "--offline=true", "--threshold=20", path).status, 0)
    rmSync(directory, { recursive: true })
  })
})

describe("npm run sbom", () => {
  const Component = Schema.Struct({
    type: Schema.Literal("library"),
    "bom-ref": Schema.String,
    name: Schema.String,
    version: Schema.String,
    purl: Schema.String,
    licenses: Schema.Array(
      Schema.Union([
        Schema.Struct({ license: Schema.Struct({ id: Schema.NonEmptyString }) }),
        Schema.Struct({ expression: Schema.NonEmptyString })
      ])
    ),
    hashes: Schema.optional(Schema.Array(Schema.Struct({ alg: Schema.Literal("SHA-512"), content: Schema.String })))
  })
  const Bom = Schema.Struct({
    bomFormat: Schema.Literal("CycloneDX"),
    specVersion: Schema.Literal("1.6"),
    metadata: Schema.Struct({ component: Schema.Struct({ name: Schema.String, version: Schema.String }) }),
    components: Schema.Array(Component),
    dependencies: Schema.Array(Schema.Struct({ ref: Schema.String, dependsOn: Schema.Array(Schema.String) }))
  })
  const print = () => execFileSync(process.execPath, [join(root, "scripts/sbom.ts")], { encoding: "utf8" })

  it("lists every package that runs, with version, licence and checksum, and no tool of the tests", () => {
    const text = print()
    assert.strictEqual(print(), text)
    const { components, dependencies, metadata } = Schema.decodeUnknownSync(Bom)(JSON.parse(text))
    assert.deepInclude(metadata.component, { name: manifest.name, version: manifest.version })
    const listed = components.map(({ name, version }) => `${name}@${version}`)
    const runs = { ...manifest.dependencies, ...manifest.optionalDependencies }
    assert.includeMembers(
      listed,
      Object.entries(runs).map(([name, version]) => `${name}@${version}`)
    )
    // Of the console's page; and a package that only another one needs.
    for (const name of ["preact", "uplot", "@redis/client"])
      assert.include(
        components.map((one) => one.name),
        name
      )
    for (const name of ["vitest", "vite", "typescript", "playwright-core"]) {
      assert.notInclude(
        components.map((one) => one.name),
        name
      )
    }
    for (const { hashes, licenses, name, version } of components) {
      assert.lengthOf(licenses, 1, name)
      assert.match(version, /^\d+\.\d+\.\d+/)
      assert.match(hashes?.[0]?.content ?? "", /^[0-9a-f]{128}$/, name)
    }
    const refs = components.map((component) => component["bom-ref"])
    assert.lengthOf(new Set(refs), refs.length)
    assert.lengthOf(dependencies, refs.length + 1)
    for (const { dependsOn } of dependencies) assert.includeMembers(refs, [...dependsOn])
  })
})

describe(".github/workflows/release.yml", () => {
  const source = read(".github/workflows/release.yml")
  const Step = Schema.Struct({
    uses: Schema.optional(Schema.String),
    run: Schema.optional(Schema.String),
    env: Schema.optional(Schema.Record(Schema.String, Schema.String))
  })
  const Workflow = Schema.Struct({
    on: Schema.Struct({ push: Schema.Struct({ tags: Schema.Array(Schema.String) }) }),
    permissions: Schema.Struct({ contents: Schema.Literal("read") }),
    jobs: Schema.Struct({
      release: Schema.Struct({
        permissions: Schema.Struct({ contents: Schema.Literal("write"), packages: Schema.Literal("write") }),
        steps: Schema.Array(Step)
      })
    })
  })
  const workflow = Schema.decodeUnknownSync(Workflow)(Yaml.parse(source))
  const { steps } = workflow.jobs.release
  const commands = steps
    .flatMap(({ run }) => run?.split("\n").map((line) => line.trim()) ?? [])
    .filter((line) => line !== "")

  it("runs on tags alone: checks and tests, then what is published", () => {
    assert.deepStrictEqual(workflow.on.push.tags, ["v*"])
    const order = ["./.ci/run", "./.ci/release", "docker build", "docker push", "gh release create"]
    const places = order.map((start) => commands.findIndex((line) => line.startsWith(start)))
    assert.isAbove(places[0] ?? -1, -1)
    assert.deepStrictEqual(
      places,
      places.toSorted((a, b) => a - b)
    )
    for (const { uses } of steps) if (uses !== undefined) assert.match(uses, /^actions\/[a-z-]+@v\d+$/)
  })

  it("needs no secret but the token of the run, and calls commands that exist", () => {
    const secrets = [...source.matchAll(/secrets\.(\w+)/g)].map(([, name]) => name)
    assert.deepStrictEqual([...new Set(secrets)], ["GITHUB_TOKEN"])
    // What a line refers to in double braces never reaches a shell.
    for (const line of commands) assert.notInclude(line, "${{")
    const ofTheImage = ["sudo", "docker", "echo", "gh"]
    for (const line of commands) {
      const [program = ""] = line.split(" ")
      if (program.startsWith("./")) accessSync(join(root, program), constants.X_OK)
      else assert.include(ofTheImage, program)
    }
    const release = read(".ci/release")
    const scripts = [...release.matchAll(/npm run (?:--silent )?([\w:-]+)/g)].map(([, name = ""]) => name)
    assert.include(scripts, "sbom")
    for (const name of scripts) assert.property(manifest.scripts, name)
    assert.strictEqual(spawnSync("bash", ["-n", join(root, ".ci/release")]).status, 0)
  })

  it("refuses a tag that is not the version, before it makes anything", () => {
    const directory = mkdtempSync(join(tmpdir(), "tollgate-release-"))
    const { status, stderr } = spawnSync(join(root, ".ci/release"), [directory], {
      encoding: "utf8",
      env: { ...process.env, GITHUB_REF_TYPE: "tag", GITHUB_REF_NAME: "v99.0.0" }
    })
    assert.strictEqual(status, 1)
    assert.include(stderr, `the tag v99.0.0 is not v${manifest.version}`)
    rmSync(directory, { recursive: true })
  })
})
