#!/usr/bin/env node
/** The program `tollgate` of the npm package: runs what Plan.ts decides. No shell is needed. */
import { spawn } from "node:child_process"
import { existsSync } from "node:fs"
import * as module from "node:module"
import { constants } from "node:os"
import { fileURLToPath } from "node:url"
import { forwarded, outlived, planOf, type Run } from "./Plan.ts"

const args = process.argv.slice(2)

const environment = ({ defaults, env }: Run): NodeJS.ProcessEnv => ({ ...defaults, ...process.env, ...env })

const replace = (run: Run) => process.execve?.(run.node, [run.node, ...run.args], environment(run))

const start = (run: Run): void => {
  const child = spawn(run.node, run.args, { stdio: "inherit", env: environment(run) })
  const toForward = new Set(forwarded(process.platform))
  for (const signal of outlived(process.platform)) {
    process.on(signal, () => {
      if (toForward.has(signal)) child.kill(signal)
    })
  }
  child.once("error", ({ message }) => {
    process.stderr.write(`tollgate cannot run ${run.node}: ${message}\n`)
    process.exitCode = 1
  })
  child.once("exit", (code, signal) => process.exit(code ?? (signal === null ? 1 : 128 + constants.signals[signal])))
}

const plan = planOf(args, {
  platform: process.platform,
  arch: process.arch,
  version: process.versions.node,
  execPath: process.execPath,
  sources: fileURLToPath(new URL("../", import.meta.url)),
  packages: module.createRequire(import.meta.url).resolve.paths("tollgate") ?? [],
  exists: existsSync
})

switch (plan._tag) {
  case "Import":
    module.enableCompileCache(process.env["NODE_COMPILE_CACHE"] ?? plan.cache)
    void import("../cli/main.ts")
    break
  case "Replace":
    replace(plan.run)
    break
  case "Spawn":
    start(plan.run)
    break
  case "Refuse":
    process.stderr.write(`${plan.message}\n`)
    process.exitCode = 1
}
