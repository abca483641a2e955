/**
 * The fuzzer: for a while it sends valid and invalid requests to every operation of the OpenAPI
 * document and checks each response: a declared status and content type, a body of the declared
 * schema, the error envelope, never a 500. At the end the ledger must balance: nothing is pending,
 * and each key's spending is the sum of its generations. Exits 1 if anything was wrong.
 */
import { parseArgs } from "node:util"
import { setTimeout as pause } from "node:timers/promises"
import { residentMib } from "../bench/processStat.ts"
import { closeAll, closing } from "../bench/closers.ts"
import { type Answer, faultOf } from "./checks.ts"
import { type Call, makeCall, type Victims } from "./calls.ts"
import { operations } from "./document.ts"
import { type FuzzedGateway, startGateway } from "./gateway.ts"
import { Random } from "./random.ts"

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    seed: { type: "string", default: "1" },
    parallel: { type: "string", default: "4" }
  }
})
const [minutes, seed, parallel] = [Number(values.minutes), Number(values.seed), Number(values.parallel)]

/** Kinds of faults that are reported, with one example each. */
const MOST_FAULTS = 50
/** Identifiers remembered per kind. */
const MOST_IDS = 200
const SIGN_IN_EVERY_MS = 600_000

const send = async (url: string, { body, headers, operation, path }: Call): Promise<Answer> => {
  const began = performance.now()
  const response = await fetch(`${url}${path}`, {
    method: operation.method,
    headers,
    redirect: "manual",
    signal: AbortSignal.timeout(120_000),
    ...(body === null ? {} : { body })
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, tookMs: performance.now() - began }
}

/**
 * Ids in responses become path parameters of later calls, except those of the run's own keys and
 * sessions.
 */
const gather = (text: string, { ids }: Victims, own: ReadonlySet<string>): void => {
  for (const [id, kind] of text.matchAll(/\b(gen|key|usr)_[0-9a-f]{32}\b/g)) {
    if (own.has(id)) continue
    const name = { gen: "generation_id", key: "key_id", usr: "user_id" }[kind ?? ""] ?? ""
    const known = ids.get(name) ?? []
    known.push(id)
    ids.set(name, known.slice(-MOST_IDS))
  }
}

const inCurl = ({ body, headers, operation, path }: Call): string =>
  [
    `curl -i -X ${operation.method} "$URL${path}"`,
    ...Object.entries(headers)
      .filter(([name]) => !/^(?:authorization|x-api-key|x-admin-key)$/.test(name))
      .map(([name, value]) => `-H ${JSON.stringify(`${name}: ${value}`)}`),
    ...(body === null ? [] : [`-d '${body.slice(0, 2_000)}'`])
  ].join(" ")

/** Compares each key's spending of the month with its generations. */
const booksFault = async ({ admin, keys, url }: FuzzedGateway): Promise<string | undefined> => {
  for (let tries = 0; ; tries++) {
    const { ledger } = (await admin("/v1/admin/overview")) as { ledger: { readonly pending: number } }
    if (ledger.pending === 0) break
    if (tries === 50) return `${ledger.pending} reservations are pending with nothing under way`
    await pause(100)
  }
  for (const { id, key } of keys) {
    let sum = 0
    let cursor: string | null = null
    do {
      const more: string = cursor === null ? "" : `&cursor=${cursor}`
      const response = await fetch(`${url}/v1/generations?limit=100${more}`, { headers: { "x-api-key": key } })
      if (response.status !== 200) return `the generations of ${id} answer ${response.status}`
      const page = (await response.json()) as {
        readonly data: ReadonlyArray<{ readonly cost: { readonly billed_usd: number } }>
        readonly next_cursor: string | null
      }
      for (const { cost } of page.data) sum += Math.round(cost.billed_usd * 1e9)
      cursor = page.next_cursor
    } while (cursor !== null)
    const record = (await admin(`/v1/keys/${id}`)) as { usage: { month_spent_usd: number; month_reserved_usd: number } }
    const spent = Math.round(record.usage.month_spent_usd * 1e9)
    if (spent !== sum) return `${id} spent ${spent} nano-USD, its generations cost ${sum}`
    if (record.usage.month_reserved_usd !== 0) return `${id} has ${record.usage.month_reserved_usd} USD reserved`
  }
  return undefined
}

const fuzz = () =>
  closing(async (closers) => {
    const gateway = await startGateway(closers)
    const random = new Random(seed)
    const faults = new Map<string, { count: number; readonly example: string }>()
    const statuses = new Map<string, number>()
    const until = performance.now() + minutes * 60_000
    let sent = 0
    let longestMs = 0

    const report = (fault: string, example: string): void => {
      const known = faults.get(fault)
      if (known !== undefined) known.count++
      else if (faults.size < MOST_FAULTS) faults.set(fault, { count: 1, example })
    }
    const work = async (): Promise<void> => {
      while (performance.now() < until) {
        const call = makeCall(random, random.pick(operations), gateway.victims)
        sent++
        const answer = await send(gateway.url, call).catch((cause: unknown) => String(cause))
        if (typeof answer === "string") {
          report(`${call.operation.name}: no answer: ${answer}`, inCurl(call))
          continue
        }
        longestMs = Math.max(longestMs, answer.tookMs)
        statuses.set(`${answer.status}`, (statuses.get(`${answer.status}`) ?? 0) + 1)
        const fault = faultOf(call, answer)
        if (fault !== undefined)
          report(`${call.operation.name}: ${fault}`, `${inCurl(call)}\n    ${answer.text.slice(0, 300)}`)
        else gather(answer.text, gateway.victims, gateway.own)
      }
    }
    const began = residentMib(gateway.pid)
    const signIns = setInterval(
      () => void gateway.signInAgain().catch((cause: unknown) => report(`no sign-in: ${String(cause)}`, "by hand")),
      SIGN_IN_EVERY_MS
    )
    await Promise.all(Array.from({ length: parallel }, work))
    clearInterval(signIns)
    const books = await booksFault(gateway)
    if (books !== undefined) report(books, "compare GET /v1/keys/{id} with GET /v1/generations")

    const byStatus = [...statuses].toSorted(([a], [b]) => Number(a) - Number(b)).map(([status, n]) => `${status}: ${n}`)
    console.log(
      `seed ${seed}, ${minutes} minutes, ${operations.length} operations, ${sent} requests (${byStatus.join(", ")})`
    )
    console.log(
      `slowest answer ${Math.round(longestMs)} ms; resident ${began.toFixed(0)} MiB, afterwards ${residentMib(gateway.pid).toFixed(0)} MiB`
    )
    for (const [fault, { count, example }] of faults) console.log(`\n${count} x ${fault}\n    ${example}`)
    console.log(faults.size === 0 ? "nothing was wrong" : `\n${faults.size} kinds of faults`)
    return faults.size
  })

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => void closeAll().finally(() => process.exit(130)))
}
process.exitCode = (await fuzz()) === 0 ? 0 : 1
