/**
 * An empty project, outside of the repository, in which the npm package is installed: built, packed
 * and unpacked. Nothing is downloaded: the packages that its package.json names are linked from the
 * repository, and no others, so that an import of anything else fails.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { Effect, type Scope } from "effect"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, dirname, join } from "node:path"
import { root } from "../docs/blocks.ts"

export interface Ran {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

const packages = join(root, "node_modules")

export const runIn = (
  directory: string,
  program: string,
  args: ReadonlyArray<string>,
  env: Readonly<Record<string, string>> = {}
): Ran =>
  spawnSync(program, args, {
    cwd: directory,
    encoding: "utf8",
    env: { PATH: process.env["PATH"], HOME: directory, ...env },
    maxBuffer: 1 << 26
  })

const mustRun = (directory: string, program: string, ...args: ReadonlyArray<string>): string => {
  const { status, stderr, stdout } = runIn(directory, program, args)
  if (status !== 0) throw new Error(`${program} ${args.join(" ")}: ${stderr}${stdout}`)
  return stdout
}

export interface Project {
  readonly directory: string
  /** The file that `npm pack` made. */
  readonly archive: string
  readonly write: (name: string, text: string) => void
  /** Gives the project a further package of the repository's. */
  readonly link: (name: string) => void
  readonly remove: () => void
}

/** Takes some twenty seconds: once a file. */
export const installPackage = (): Project => {
  const temporary = mkdtempSync(join(tmpdir(), "tollgate-package-"))
  const built = join(temporary, "built")
  mustRun(root, process.execPath, "scripts/package/main.ts", built)
  mustRun(built, "npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", temporary)
  const { dependencies, name, peerDependencies, peerDependenciesMeta, version } = JSON.parse(
    readFileSync(join(built, "package.json"), "utf8")
  ) as {
    name: string
    version: string
    dependencies: Record<string, string>
    peerDependencies: Record<string, string>
    peerDependenciesMeta: Record<string, { optional: boolean }>
  }
  rmSync(built, { recursive: true })
  const archive = join(temporary, `${name}-${version}.tgz`)

  const directory = join(temporary, "project")
  const place = (path: string) => join(directory, "node_modules", path)
  const link = (path: string) => {
    mkdirSync(dirname(place(path)), { recursive: true })
    symlinkSync(join(packages, path), place(path))
  }
  mkdirSync(place(".bin"), { recursive: true })
  mustRun(temporary, "tar", "-xzf", archive)
  mustRun(temporary, "mv", "package", place(name))
  symlinkSync(`../${name}/src/launcher/main.js`, place(`.bin/${name}`))
  for (const each of [...Object.keys(dependencies), ...Object.keys(peerDependencies)]) {
    if (peerDependenciesMeta[each]?.optional !== true) link(each)
  }
  const write = (path: string, text: string) => writeFileSync(join(directory, path), text)
  write("package.json", JSON.stringify({ private: true, type: "module" }))
  return { directory, archive, write, link, remove: () => rmSync(temporary, { recursive: true }) }
}

/**
 * A command that leads a group of processes of its own, as in a terminal. The scope ends the group.
 */
export const startInShell = (
  { directory }: Project,
  command: string
): Effect.Effect<ChildProcess, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() =>
      spawn(command, {
        cwd: directory,
        env: { PATH: process.env["PATH"], HOME: directory, TOLLGATE_LOG_FORMAT: "json" },
        shell: true,
        detached: true,
        stdio: ["ignore", "pipe", "pipe"]
      })
    ),
    (child) => Effect.ignore(Effect.try(() => (child.pid === undefined ? false : process.kill(-child.pid, "SIGKILL"))))
  )

/**
 * The first Node on the PATH that is too old for the gateway, and that the client still supports.
 */
export const oldNode: string | undefined = (process.env["PATH"] ?? "")
  .split(delimiter)
  .map((folder) => join(folder, "node"))
  .filter((path) => existsSync(path))
  .find((path) => /^v2[0-3]\./.test(runIn(root, path, ["--version"]).stdout))
