/**
 * Claude Code against a gateway's Messages API, in front of a provider of each dialect. It runs
 * without an account, in a folder and with a home of its own, and any other host is out of its reach.
 */
import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gateway, makeCheck, models } from "./world.mjs"

const check = makeCheck("claude-code", "@anthropic-ai/claude-code", "Messages")
const LIMIT_MS = 120_000
/** The package's own launcher is made by its install script, which is not run. */
const program = createRequire(import.meta.url).resolve(
  `@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`
)

/** A folder with a home beside it, for `use`. */
const inFolder = async (use) => {
  const directory = mkdtempSync(join(tmpdir(), "tollgate-claude-"))
  try {
    mkdirSync(join(directory, "work"))
    return await use(directory)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/** What `claude -p` tells at its end, and the file that it wrote. */
const runIn = async (directory, { key = gateway.key, model, more = [], prompt }) => {
  const work = join(directory, "work")
  const allowed = ["--permission-mode", "acceptEdits", "--allowedTools", "Bash(echo:*)"]
  const child = spawn(program, ["-p", prompt, "--output-format", "json", ...more, ...allowed], {
    cwd: work,
    env: {
      PATH: process.env.PATH,
      HOME: directory,
      ANTHROPIC_BASE_URL: gateway.url.replace(/\/v1$/, ""),
      ANTHROPIC_AUTH_TOKEN: key,
      ANTHROPIC_MODEL: model,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      // Nothing listens there.
      HTTPS_PROXY: "http://127.0.0.1:9",
      NO_PROXY: "127.0.0.1"
    },
    stdio: ["ignore", "pipe", "ignore"],
    timeout: LIMIT_MS,
    killSignal: "SIGKILL"
  })
  let out = ""
  child.stdout.on("data", (piece) => (out += piece))
  await new Promise((resolve) => child.once("close", resolve))
  const read = () => {
    try {
      return readFileSync(join(work, "hello.txt"), "utf8")
    } catch {
      return null
    }
  }
  return { ...JSON.parse(out), file: read() }
}
const run = (model, prompt, key) => inFolder((directory) => runIn(directory, { key, model, prompt }))

await check("chat", "answers at every dialect", async () => {
  for (const model of models) assert.equal((await run(model, "Please say hello")).result, "Hello there.", model)
})

await check("tools", "writes a file at every dialect, by a command, after a thought that goes back", async () => {
  for (const model of models) {
    const { file, is_error, result } = await run(model, "Please write hello.txt")
    assert.deepEqual({ file, is_error, result }, { file: "hello\n", is_error: false, result: "It is written." }, model)
  }
})

await check("errors", "knows a full context and an empty budget, and waits for its rate", async () => {
  for (const model of models) {
    const full = await run(model, "Please read this very long book")
    assert.deepEqual([full.is_error, full.api_error_status], [true, 400])
    assert.match(full.result, /^Prompt is too long/)
  }
  for (const model of models) {
    const last = await inFolder(async (directory) => {
      for (const more of [[], ["--continue"]]) await runIn(directory, { model, more, prompt: "Please say hello" })
      return runIn(directory, { model, more: ["--continue"], prompt: `Please say hello, once full at ${model}` })
    })
    assert.deepEqual([last.is_error, last.result], [false, "Hello there."], `${model} compacts`)
  }
  const broke = await run("test/chat", "Please say hello", await gateway.newKey({ monthly_budget_usd: 0.000001 }))
  assert.deepEqual([broke.is_error, broke.api_error_status], [true, 402])
  assert.match(broke.result, /monthly budget/)
  const few = await gateway.newKey({ tier: "free" })
  for (let status = 200; status === 200;) {
    const response = await fetch(`${gateway.url}/messages`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": few },
      body: JSON.stringify({ model: "test/chat", max_tokens: 9, messages: [{ role: "user", content: "say hello" }] })
    })
    await response.text()
    status = response.status
  }
  assert.equal((await run("test/chat", "Please say hello", few)).result, "Hello there.")
})
