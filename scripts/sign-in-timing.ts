/**
 * Measures whether response times reveal that an account exists: 1,000 sign-in starts and 1,000
 * failing verifications, half for addresses with an account and half without, in random order,
 * against a gateway started for the purpose. Prints both means and their difference in standard
 * errors. Fails above 3.5, which chance exceeds once in two thousand runs.
 *
 * Usage: `node scripts/sign-in-timing.ts [tries]`
 */
import { spawn } from "node:child_process"
import { randomInt } from "node:crypto"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"

const tries = Number(process.argv[2] ?? 1_000)
const half = Math.ceil(tries / 2)
/** A destination gets at most one code a minute. */
const RESEND_MS = 61_000
const LIMIT = 3.5

const directory = mkdtempSync(join(tmpdir(), "tollgate-timing-"))
const limits = {
  per_destination_hour: 1_000,
  per_address_minute: 1_000_000,
  global_minute: 1_000_000,
  new_accounts_day: 1_000_000
}
writeFileSync(join(directory, "tollgate.yaml"), JSON.stringify({ auth: { trusted_proxies: ["127.0.0.0/8"], limits } }))
const main = fileURLToPath(new URL("../src/main.ts", import.meta.url))
const child = spawn(process.execPath, [main], {
  cwd: directory,
  env: { PATH: process.env["PATH"], TOLLGATE_PORT: "0", TOLLGATE_LOG_FORMAT: "json" },
  stdio: ["ignore", "pipe", "inherit"]
})

const url = await new Promise<string>((resolve, reject) => {
  let text = ""
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk
    const found = /"url":"(http:[^"]+)"/.exec(text)
    if (found?.[1] !== undefined) resolve(found[1])
  })
  child.once("exit", () => reject(new Error(`the gateway ended: ${text}`)))
})

interface Answer {
  readonly challenge_id: string
  readonly status: number
}

let addresses = 0
/** Each request appears to come from its own network address. */
const post = async (path: string, body: object): Promise<Answer> => {
  const n = ++addresses
  const response = await fetch(url + path, {
    method: "POST",
    headers: { "content-type": "application/json", "x-forwarded-for": `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}` },
    body: JSON.stringify(body)
  })
  return { ...((await response.json()) as { challenge_id: string }), status: response.status }
}
const begin = (email: string) => post("/auth/register/email/start", { email })
const verify = (challenge_id: string, code: string) => post("/auth/register/email/verify", { challenge_id, code })

const lastCode = async (): Promise<string> => {
  const response = await fetch(`${url}/auth/dev/mailbox`)
  const { data } = (await response.json()) as { data: ReadonlyArray<{ code: string }> }
  return data[0]?.code ?? ""
}

const shuffled = <A>(items: ReadonlyArray<A>): ReadonlyArray<A> => {
  const mixed = [...items]
  for (let at = mixed.length - 1; at > 0; at--) {
    const other = randomInt(at + 1)
    ;[mixed[at], mixed[other]] = [mixed[other] as A, mixed[at] as A]
  }
  return mixed
}

type Kind = "known" | "unknown"

/** Milliseconds of each call, by kind, in random order. */
const measure = async (calls: ReadonlyArray<readonly [Kind, () => Promise<Answer>, number]>) => {
  const times: Record<Kind, Array<number>> = { known: [], unknown: [] }
  for (const [kind, call, status] of shuffled(calls)) {
    const from = performance.now()
    const answer = await call()
    times[kind].push(performance.now() - from)
    if (answer.status !== status) throw new Error(`a ${kind} address was answered with ${answer.status}`)
  }
  return times
}

const statistics = (times: ReadonlyArray<number>) => {
  const kept = times.toSorted((a, b) => a - b).slice(0, Math.ceil(times.length * 0.95))
  const mean = kept.reduce((sum, one) => sum + one, 0) / kept.length
  const variance = kept.reduce((sum, one) => sum + (one - mean) ** 2, 0) / (kept.length - 1)
  return { mean, squaredError: variance / kept.length }
}

const report = (what: string, { known, unknown }: Record<Kind, ReadonlyArray<number>>): boolean => {
  const [a, b] = [statistics(known), statistics(unknown)]
  const errors = Math.abs(a.mean - b.mean) / Math.sqrt(a.squaredError + b.squaredError)
  const told = `${a.mean.toFixed(3)} ms with an account, ${b.mean.toFixed(3)} ms without`
  console.log(
    `${what}: ${told}; they differ by ${errors.toFixed(2)} standard errors (${known.length} + ${unknown.length} tries)`
  )
  return errors < LIMIT
}

try {
  const known = Array.from({ length: half }, (_, index) => `known${index}@example.com`)
  const unknown = Array.from({ length: half }, (_, index) => `nobody${index}@example.com`)
  for (const email of known) {
    const { challenge_id } = await begin(email)
    const { status } = await verify(challenge_id, await lastCode())
    if (status !== 200) throw new Error(`an account could not be made: ${status}`)
  }
  await sleep(RESEND_MS)
  const challenges: Array<readonly [Kind, string]> = []
  const starting = (kind: Kind) => (email: string) =>
    [
      kind,
      async () => {
        const answer = await begin(email)
        challenges.push([kind, answer.challenge_id])
        return answer
      },
      200
    ] as const
  const starts = await measure([...known.map(starting("known")), ...unknown.map(starting("unknown"))])
  const failures = await measure(challenges.map(([kind, id]) => [kind, () => verify(id, "wrong"), 401] as const))
  const equal = [report("starts", starts), report("failed verifications", failures)]
  process.exitCode = equal.every(Boolean) ? 0 : 1
} finally {
  child.kill()
  await once(child, "exit")
  rmSync(directory, { recursive: true, force: true })
}
