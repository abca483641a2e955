/**
 * The shell blocks of each document, run in order in one shell against a started gateway, and the
 * outputs shown behind them.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, Result } from "effect"
import { Toml, Yaml } from "effect/encoding"
import { spawnSync } from "node:child_process"
import { inject } from "vitest"
import { startAimock } from "../support/aimock.ts"
import { freshDatabase } from "../support/Postgres.ts"
import { type Block, blocksOf, blocksOfKind, documents, root } from "./blocks.ts"
import { differences, eventDifferences } from "./excerpt.ts"
import { startGateway, type StartedGateway } from "./startGateway.ts"

/** Every document has a gateway started for it. */
const SLOW_MACHINE_MS = 120_000
const separator = "\u001e"
const usualAddress = "http://127.0.0.1:8787"

/**
 * What each block printed, in order, with the gateway's usual address. The shell stops at the first
 * command that fails. Files of the home directory are in the gateway's.
 */
const run = (blocks: ReadonlyArray<Block>, { directory, url }: StartedGateway): ReadonlyArray<string> => {
  const script = blocks.map(({ text }) => `${text}\nprintf '\\036'\n`).join("")
  const { status, stderr, stdout } = spawnSync("sh", ["-eu"], {
    cwd: directory,
    // The command line is where a reader would have put it.
    env: { HOME: directory, TOLLGATE_URL: url, PATH: `${root}/scripts:${process.env["PATH"] ?? ""}` },
    input: script.replaceAll(usualAddress, url),
    encoding: "utf8"
  })
  assert.strictEqual(status, 0, `${stderr}\n${stdout}`)
  return stdout.replaceAll(url, usualAddress).split(separator).slice(0, -1)
}

const readers: Readonly<Record<string, (text: string) => unknown>> = {
  "json output": (text) => JSON.parse(text),
  "toml output": (text) => Result.getOrThrow(Toml.parse(text)),
  "yaml output": Yaml.parse
}

/** Where an output differs from what was printed; null: the block is not an output. */
const compare = (output: Block, printed: string): ReadonlyArray<string> | null => {
  if (output.kind === "sse output") return eventDifferences(output.text, printed)
  const read = readers[output.kind]
  return read === undefined ? null : differences(read(output.text), read(printed))
}

/** What the provider of the tutorials answers, to any prompt. */
const providerAnswer = {
  content: "Rome was not built in a day.",
  usage: { prompt_tokens: 13, completion_tokens: 8, total_tokens: 21 }
}

/**
 * The settings of the document's start command, with servers of the tests in place of the ones that
 * it names.
 */
const environmentOf = Effect.fnUntraced(function* (path: string) {
  const command = blocksOfKind(path, "sh start")[0]?.text ?? ""
  const env = Object.fromEntries(
    [...command.matchAll(/^\s*([A-Z_]+)=(\S+)/gm)].map(([, name = "", value = ""]) => [name, value])
  )
  return {
    ...env,
    ...(env["OPENAI_API_KEY"] === undefined
      ? {}
      : { OPENAI_BASE_URL: (yield* startAimock([{ match: {}, response: providerAnswer }])).url }),
    ...(env["DATABASE_URL"] === undefined ? {} : { DATABASE_URL: Redacted.value(yield* freshDatabase) }),
    ...(env["REDIS_URL"] === undefined ? {} : { REDIS_URL: inject("redisUrl") })
  }
})

for (const path of documents.filter((path) => blocksOfKind(path, "sh").length > 0)) {
  describe(path, () => {
    it.live(
      "runs, and prints what it shows",
      () =>
        Effect.gen(function* () {
          const gateway = yield* startGateway(
            blocksOfKind(path, "yaml tollgate.yaml")[0]?.text,
            yield* environmentOf(path)
          )
          const shell = blocksOfKind(path, "sh")
          const printed = run(shell, gateway)
          assert.strictEqual(printed.length, shell.length)
          let latest = -1
          for (const block of blocksOf(path)) {
            if (block.kind === "sh") latest++
            const found = compare(block, printed[latest] ?? "")
            if (found !== null) assert.deepStrictEqual(found, [], `${path}:${block.line}`)
          }
        }).pipe(Effect.scoped),
      SLOW_MACHINE_MS
    )
  })
}

describe("an excerpt", () => {
  it("may leave members out, and differs in a sum or a word", () => {
    const real = { id: "gen_01a1fdf7c2f97e2c9eefba054adbb224", cost_usd: 0.5, latency_ms: 3, text: "Hello" }
    assert.deepStrictEqual(differences({ latency_ms: 9, text: "Hello" }, real), [])
    assert.deepStrictEqual(differences({ cost_usd: 0.4 }, real), ["$.cost_usd: shown 0.4, really 0.5"])
    assert.lengthOf(differences({ text: "Bye", gone: 1 }, real), 2)
    assert.lengthOf(eventDifferences("data: [DONE]\n", 'data: {"a":1}\n\ndata: [DONE]\n'), 1)
  })
})
