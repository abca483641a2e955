/**
 * The TypeScript blocks of the documents: type-checked together under the project's own rules, then
 * each is run.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { spawnSync } from "node:child_process"
import { readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { type Block, blocksOf, documents, root } from "./blocks.ts"
import { awaitLine, startGateway, startProcess, temporaryDirectory } from "./startGateway.ts"

const examples = documents.flatMap((path) =>
  blocksOf(path).flatMap((block, index, all) =>
    /^ts\b/.test(block.kind)
      ? [{ block, output: all[index + 1], name: `example-${path.replace(/\W/g, "-")}-${index}.ts` }]
      : []
  )
)

/** Every test here starts processes. */
const SLOW_MACHINE_MS = 120_000

const gatewayAddress = "http://127.0.0.1:8787"

/**
 * The examples as files in a directory that has the repository's sources and packages, as the root
 * has them.
 */
const written = (adapt: (block: Block) => string): Effect.Effect<string, never, Scope.Scope> =>
  Effect.map(temporaryDirectory, (directory) => {
    for (const name of ["node_modules", "src", "test"]) symlinkSync(join(root, name), join(directory, name))
    for (const { block, name } of examples) writeFileSync(join(directory, name), adapt(block))
    const config = { extends: join(root, "tsconfig.json"), include: ["*.ts"] }
    writeFileSync(join(directory, "tsconfig.json"), JSON.stringify(config))
    const { exports, name, type } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Record<
      string,
      unknown
    >
    writeFileSync(join(directory, "package.json"), JSON.stringify({ name, type, exports }))
    return directory
  })

const run = (directory: string, name: string, env: Readonly<Record<string, string>> = {}): string => {
  const { status, stderr, stdout } = spawnSync(process.execPath, [name], {
    cwd: directory,
    encoding: "utf8",
    env: { PATH: process.env["PATH"], ...env }
  })
  assert.strictEqual(status, 0, stderr)
  return stdout.trim()
}

const ofKind = (kind: string) => examples.filter(({ block }) => block.kind === kind)

describe("the examples", () => {
  it.effect(
    "pass the type check",
    () =>
      Effect.gen(function* () {
        const directory = yield* written(({ text }) => text)
        const { status, stdout } = spawnSync(join(root, "node_modules/.bin/tsc"), ["-p", directory], {
          encoding: "utf8"
        })
        assert.strictEqual(status, 0, stdout)
        assert.isAbove(examples.length, 3)
      }).pipe(Effect.scoped),
    SLOW_MACHINE_MS
  )

  for (const { block, name, output } of ofKind("ts")) {
    it.effect(
      `${block.path}:${block.line} prints what it shows`,
      () =>
        Effect.gen(function* () {
          const directory = yield* written(({ text }) => text)
          assert.strictEqual(output?.kind, "text output")
          assert.strictEqual(run(directory, name), output?.text.trim())
        }).pipe(Effect.scoped),
      SLOW_MACHINE_MS
    )
  }

  for (const { block, name, output } of ofKind("ts client")) {
    it.live(
      `${block.path}:${block.line} talks to a gateway`,
      () =>
        Effect.gen(function* () {
          const gateway = yield* startGateway()
          const key = readFileSync(join(gateway.directory, ".tollgate/first-api-key"), "utf8").trim()
          const directory = yield* written(({ text }) => text.replaceAll(gatewayAddress, gateway.url))
          assert.strictEqual(run(directory, name, { TOLLGATE_API_KEY: key }), output?.text.trim())
        }).pipe(Effect.scoped),
      SLOW_MACHINE_MS
    )
  }

  for (const { block, name } of ofKind("ts server")) {
    it.live(
      `${block.path}:${block.line} serves, whole and streamed`,
      () =>
        Effect.gen(function* () {
          const directory = yield* written(({ text }) => text.replace("port: 8787", "port: 0"))
          const child = yield* startProcess(process.execPath, [name], { cwd: directory })
          const [, url = ""] = yield* awaitLine(child, /listening on (http:\/\/[\d.:]+)/)
          const post = (path: string, headers: Record<string, string>, body: unknown) =>
            Effect.promise(async (signal) => {
              const response = await fetch(`${url}${path}`, {
                method: "POST",
                headers: { "content-type": "application/json", ...headers },
                body: JSON.stringify(body),
                signal
              })
              return await response.text()
            })
          const admin = { "x-admin-key": "an-admin-key-of-mine" }
          const issued = JSON.parse(yield* post("/v1/keys", admin, { name: "test" })) as { readonly key: string }
          const chat = { model: "house/shout", messages: [{ role: "user", content: "hello" }] }
          const whole = yield* post("/v1/chat/completions", { "x-api-key": issued.key }, chat)
          assert.strictEqual(JSON.parse(whole).choices[0].message.content, "HELLO")
          const uncached = { "x-api-key": issued.key, "cache-control": "no-store" }
          const streamed = yield* post("/v1/chat/completions", uncached, { ...chat, stream: true })
          assert.include(streamed, '"content":"HELLO"')
          assert.match(streamed, /data: \[DONE\]\n\n$/)
        }).pipe(Effect.scoped),
      SLOW_MACHINE_MS
    )
  }
})
