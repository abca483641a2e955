/**
 * How long the worst bodies block the gateway's event loop, and how much memory they take: `npm run
 * bench:worst`, on a quiet machine. Gateways on the embedded database with the mock provider
 * measure themselves (loopProbe.ts): one with masking, and one that accepts any length, for bodies
 * that are hashed. Each body goes to each endpoint that accepts it; the largest have the gateway's
 * own limit, 32 MiB. Rows that block the loop for more than 50 ms are marked, or 150 ms if the body
 * is parsed as a whole. An argument selects rows by a part of their name. Linux only.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { closeAll, closing } from "./closers.ts"
import { adminKey } from "./gateway.ts"
import { prose } from "./prose.ts"
import { answers, directory, freePort } from "./servers.ts"

const MIB = 1_048_576
const LONGEST_HOLD_MS = 50
const LONGEST_PARSE_MS = 150
/** A body is parsed in one turn; only above this size can parsing explain a long turn. */
const LARGE_BYTES = 4 * MIB

const masking = "privacy: { mode: mask }\n"
/** Lets the largest bodies reach the hash and a model. */
const unlimited = `tiers: { enterprise: { tokens_per_minute: 1000000000 } }
providers:
  - slug: mock
    name: Mock
    dialect: mock
    models:
      - { id: mock/echo, upstream: echo, context_length: 100000000, pricing: { prompt: 0.15, completion: 0.6 } }
      - { id: mock/embed, upstream: embed, context_length: 100000000, embeddings: true, pricing: { prompt: 0.02 } }
`

let seed = 1
const letter = () => {
  seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0
  return "abcdefghijklmnopqrstuvwxyz0123456789"[seed % 36] ?? "a"
}
const letters = (() => {
  const block = Array.from({ length: 65_536 }, letter).join("")
  return (size: number) => block.repeat(Math.ceil(size / block.length)).slice(0, size)
})()
const filled = (piece: string, bytes: number) =>
  piece.repeat(Math.floor(bytes / Buffer.byteLength(JSON.stringify(piece))) + 1)
const listed = (item: string, count: number) => `[${`${item},`.repeat(count - 1)}${item}]`

const chat = (messages: string, more = "") => `{"model":"mock/echo","max_tokens":1,"messages":${messages}${more}}`
const saying = (text: string) => chat(`[{"role":"user","content":${JSON.stringify(text)}}]`)
const large = 31 * MIB

/** By name. Generated when sent, so that only one is in memory. */
const bodies: Readonly<Record<string, () => string>> = {
  "letters without a blank, 31 MiB": () => saying(letters(large)),
  "prose, 31 MiB": () => saying(prose(large)),
  "blanks, 31 MiB": () => saying(" ".repeat(large)),
  "one letter, 31 MiB": () => saying("a".repeat(large)),
  "emoji, 24 MiB": () => saying("😀".repeat(6 * MIB)),
  "Chinese, 24 MiB": () => saying("汉字漢".repeat((8 * MIB) / 3)),
  "addresses, 16 MiB": () => saying(filled("jane@example.com, ", 16 * MIB)),
  "card numbers, 16 MiB": () => saying(filled("4111 1111 1111 1111 ", 16 * MIB)),
  "escapes, 31 MiB": () => chat(`[{"role":"user","content":"${"\\u0001".repeat(large / 6)}"}]`),
  "letters without a blank, 1 MiB": () => saying(letters(MIB)),
  "addresses, 1 MiB": () => saying(filled("jane@example.com, ", MIB)),
  "160,000 messages": () => chat(listed('{"role":"user","content":"Hi there"}', 160_000)),
  "20,000 messages of 150 characters": () => chat(listed(`{"role":"user","content":"${letters(150)}"}`, 20_000)),
  "120,000 parts": () => chat(`[{"role":"user","content":${listed('{"type":"text","text":"Hi"}', 120_000)}}]`),
  "400,000 values in metadata": () =>
    chat('[{"role":"user","content":"Hi"}]', `,"metadata":{"a":${listed("1", 400_000)}}`),
  "a tool of 400,000 values": () =>
    chat(
      '[{"role":"user","content":"Hi"}]',
      `,"tools":[{"type":"function","function":{"name":"f","parameters":{"enum":${listed('"word"', 400_000)}}}}]`
    ),
  "490,000 faults": () => chat(listed("1", 490_000)),
  "a million values": () => chat(listed("1", 1_000_000)),
  "16 MiB of brackets": () => "[".repeat(16 * MIB)
}

const inputs: Readonly<Record<string, () => string>> = {
  "2,048 inputs of 12,000 letters": () => `{"model":"mock/embed","input":${listed(`"${letters(12_000)}"`, 2_048)}}`,
  "one input, 31 MiB": () => `{"model":"mock/embed","input":"${letters(large)}"}`,
  "490,000 numbers": () => `{"model":"mock/embed","input":${listed("1", 490_000)}}`,
  "16,384 dimensions of 100 inputs": () => `{"model":"mock/embed","dimensions":16384,"input":${listed('"a"', 100)}}`
}

const asText = (make: () => string) => () => {
  const { messages } = JSON.parse(make()) as { readonly messages: unknown }
  return JSON.stringify({ messages })
}

interface Call {
  readonly path: string
  readonly name: string
  readonly make: () => string
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * A request is hashed as a whole if the prompt cache may answer it, or if it has an
 * `Idempotency-Key`.
 */
const hashed = (path: string, [name, make]: readonly [string, () => string]): ReadonlyArray<Call> => {
  const idempotent = { path, make, name: `${name}, Idempotency-Key`, headers: { "idempotency-key": `"${name}"` } }
  const repeatable = { path, make: () => `${make().slice(0, -1)},"temperature":0}`, name: `${name}, temperature 0` }
  return path === "/v1/embeddings" ? [idempotent] : [repeatable, idempotent]
}

const calls: ReadonlyArray<Call> = [
  ...Object.entries(bodies).flatMap(([name, make]) => [
    { path: "/v1/chat/completions", name, make },
    { path: "/v1/route/preview", name, make },
    ...(name.includes("brackets") ? [] : [{ path: "/v1/privacy/preview", name, make: asText(make) }])
  ]),
  ...Object.entries(inputs).map(([name, make]) => ({ path: "/v1/embeddings", name, make })),
  ...["/v1/keys", "/v1/admin/users", "/v1/portal/keys", "/auth/register/email/start", "/auth/refresh"].map((path) => ({
    path,
    name: "a million values, from nobody",
    make: () => listed("1", 1_000_000)
  }))
]

const hashedCalls: ReadonlyArray<Call> = [
  ...Object.entries(bodies)
    .filter(([name]) => !/faults|million|brackets/.test(name))
    .flatMap((body) => hashed("/v1/chat/completions", body)),
  ...Object.entries(inputs)
    .filter(([name]) => !name.includes("numbers"))
    .flatMap((body) => hashed("/v1/embeddings", body))
]

/** The gateway's measurements since the last report. */
interface Measured {
  readonly longestMs: number
  readonly residentMib: number
}

const ask = async (gateway: ChildProcess): Promise<Measured> => {
  gateway.send("measure")
  const [measured] = (await once(gateway, "message")) as [Measured]
  return measured
}

let over = 0

/** Starts a gateway, sends the calls and prints a row for each. */
const measure = (settings: string, calls: ReadonlyArray<Call>) =>
  closing(async (closers) => {
    const place = directory(closers)
    const config = join(place, "tollgate.yaml")
    writeFileSync(config, settings)
    const port = await freePort()
    const url = `http://127.0.0.1:${port}`
    const flags = readFileSync(join(import.meta.dirname, "../node-flags"), "utf8")
      .trim()
      .split("\n")
    const [probe, main] = [join(import.meta.dirname, "loopProbe.ts"), join(import.meta.dirname, "../../src/main.ts")]
    const gateway = spawn(process.execPath, [...flags, "--import", probe, main], {
      stdio: ["ignore", "ignore", "inherit", "ipc"],
      env: {
        PATH: process.env["PATH"],
        TOLLGATE_PORT: String(port),
        TOLLGATE_ADMIN_KEY: adminKey,
        TOLLGATE_CONFIG: config,
        TOLLGATE_DATA_DIR: join(place, "data"),
        TOLLGATE_LOG_LEVEL: "error"
      }
    })
    closers.add(async () => {
      gateway.kill("SIGKILL")
      if (gateway.exitCode === null) await once(gateway, "exit")
    })
    const isReady = answers(`${url}/health/ready`, (status) => status === 200)
    while (!(await isReady().catch(() => false))) await pause(50)
    /** A new key per call, so that each has all limits of the largest tier. */
    const newKey = async (): Promise<string> => {
      const made = await fetch(`${url}/v1/keys`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-admin-key": adminKey },
        body: JSON.stringify({ name: "worst", tier: "enterprise", monthly_budget_usd: 1_000_000 })
      })
      return ((await made.json()) as { readonly key: string }).key
    }

    // The first calls compile the code and are not measured.
    for (const round of ["warm-up", "measured"]) {
      for (const { headers, make, name, path } of round === "warm-up" ? calls.slice(0, 12) : calls) {
        const body = make()
        const key = await newKey()
        await pause(200)
        await ask(gateway)
        const began = performance.now()
        const response = await fetch(`${url}${path}`, {
          method: "POST",
          body,
          headers: {
            "content-type": "application/json",
            ...(name.endsWith("nobody") ? {} : { "x-api-key": key }),
            ...headers
          }
        }).catch(() => null)
        await response?.text()
        const seconds = (performance.now() - began) / 1_000
        const { longestMs, residentMib } = await ask(gateway)
        if (round === "warm-up") continue
        const isOver = longestMs > (body.length > LARGE_BYTES ? LONGEST_PARSE_MS : LONGEST_HOLD_MS)
        if (isOver) over++
        console.log(
          `${path.padEnd(28)}${String(response?.status ?? "cut").padEnd(8)}${seconds.toFixed(2).padStart(7)}` +
            `${longestMs.toFixed(0).padStart(18)}${residentMib.toFixed(0).padStart(15)}  ${name}${isOver ? "  <-- long" : ""}`
        )
      }
    }
  })

const chosen = (all: ReadonlyArray<Call>) => all.filter(({ name }) => name.includes(process.argv[2] ?? ""))
console.log("path                        status  seconds  longest hold, ms  resident, MiB  body")
await measure(masking, chosen(calls))
await measure(unlimited, chosen(hashedCalls))
console.log(over === 0 ? "no body held the event loop for long" : `${over} bodies held the event loop for long`)
process.exitCode = over === 0 ? 0 : 1
await closeAll()
