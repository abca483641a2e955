/**
 * The worst bodies that a client can send, to every endpoint with a body. Each is served, or
 * refused with a status that names the fault. None causes an internal error, a response that grows
 * with the body, or a long block of the event loop.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { gzipSync } from "node:zlib"
import { defaultSettings } from "../../src/Settings.ts"
import { TestApp } from "../support/TestApp.ts"
import { helloReply } from "./wire.ts"

/** In processor time, which is independent of other processes on the machine. */
const LONGEST_HOLD_MS = 500
const LARGEST_ANSWER = 100_000
/** The most memory in use, as a multiple of the body's size, and an allowance for small bodies. */
const MOST_TIMES_THE_BODY = 10
const SMALL_BYTES = 100 * 1_048_576

const ones = (count: number) => `[${"1,".repeat(count - 1)}1]`
const members = (count: number) => `{${Array.from({ length: count }, (_, at) => `"m${at}":1`).join(",")}}`
const chat = (messages: string, more = "") => `{"model":"test/small","messages":${messages}${more}}`

const input = (items: string) => `{"model":"test/small","input":[${items}]}`
const times = (count: number, one: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => one(at)).join(",")

const bodies: Readonly<Record<string, string | Uint8Array>> = {
  "an empty one": "",
  "no JSON": "{",
  "not UTF-8": Buffer.from([0x7b, 0xff, 0xfe, 0x7d]),
  "128 levels of lists": "[".repeat(128) + "]".repeat(128),
  "100,000 levels": "[".repeat(100_000),
  "128 levels of a message": chat(`[{"role":"user","content":${"[".repeat(120)}${"]".repeat(120)}}]`),
  "a list of 400,000": ones(400_000),
  "a list of a million": ones(1_000_000),
  "20,000 members": members(20_000),
  "400,000 members": members(400_000),
  "400,000 faults": chat(ones(400_000)),
  "100,000 faulty messages": chat(`[${`{"role":1},`.repeat(100_000)}{}]`),
  "a provider with 100,000 members": chat(`[{"role":"user","content":"Hi"}]`, `,"provider":${members(100_000)}`),
  "huge numbers": chat(`[{"role":"user","content":"Hi"}]`, `,"max_tokens":1e400,"seed":${"9".repeat(5_000)}`),
  "a member that is there twice": `{"model":"a","model":1,"messages":[],"messages":1}`,
  __proto__: `{"__proto__":{"model":"test/small"},"constructor":{"prototype":{}},"messages":{"__proto__":[1]}}`,
  "a megabyte of letters": chat(`[{"role":"user","content":"${"abcdefghij0123456789".repeat(50_000)}"}]`),
  "a megabyte of blanks": chat(`[{"role":"user","content":"${" ".repeat(1_000_000)}"}]`),
  "20,000 messages": chat(
    `[${`{"role":"user","content":"${"word ".repeat(30)}"},`.repeat(20_000)}{"role":"user","content":"."}]`
  ),
  "a megabyte of addresses": chat(`[{"role":"user","content":"${"jane@example.com, ".repeat(55_000)}"}]`),
  "a megabyte of letters to embed": `{"model":"test/small","input":"${"abcdefghij0123456789".repeat(50_000)}"}`,
  "400,000 token ids": `{"model":"test/small","input":${ones(400_000)}}`,
  "100,000 token ids": `{"model":"test/small","input":${ones(100_000)}}`,
  "2,000 lists of 200 token ids": `{"model":"test/small","input":[${`${ones(200)},`.repeat(1_999)}${ones(200)}]}`,
  "100,000 items": input(times(100_000, () => `{"role":"user","content":"a"}`)),
  "60,000 calls": input(
    times(60_000, (at) => `{"type":"function_call","call_id":"c${at}","name":"f","arguments":"{}"}`)
  ),
  "5,000 calls of tools without a short name": input(
    times(5_000, (at) => `{"type":"function_call","call_id":"c${at}","name":"\u00e9${at}","arguments":"{}"}`)
  ),
  "150,000 parts of an item": input(
    `{"role":"assistant","content":[${times(150_000, () => `{"type":"output_text","text":"a"}`)}]}`
  ),
  "60,000 items of an unknown type": input(times(60_000, () => `{"type":"x","y":{"file_id":""}}`)),
  "a tool with a name of a megabyte": `{"model":"test/small","input":"a","tools":[{"type":"function","name":"${"é".repeat(500_000)}"}]}`,
  "50,000 results of tools": `{"model":"test/small","max_tokens":9,"messages":[{"role":"user","content":[${times(50_000, (at) => `{"type":"tool_result","tool_use_id":"c${at}","content":"a"}`)}]}]}`,
  "150,000 blocks": `{"model":"test/small","max_tokens":9,"messages":[{"role":"user","content":[${times(150_000, () => `{"type":"text","text":"a"}`)}]}]}`,
  "a bomb": gzipSync(Buffer.alloc(100_000_000, "[1,"))
}

const endpoints = [
  "/v1/chat/completions",
  "/v1/messages",
  "/v1/messages/count_tokens",
  "/v1/responses",
  "/v1/embeddings",
  "/v1/route/preview",
  "/v1/privacy/preview",
  "/v1/keys",
  "/v1/admin/users",
  "/v1/portal/keys",
  "/auth/register/email/start",
  "/auth/register/email/verify",
  "/auth/refresh",
  "/auth/logout"
]

const app = TestApp.layer({
  providers: [{ slug: "alpha", models: { "test/small": { reply: helloReply } } }],
  settings: { privacy: { ...defaultSettings.privacy, mode: "mask" } }
})

const cpuMs = () => {
  const { system, user } = process.threadCpuUsage()
  return (system + user) / 1_000
}

/** Measures the longest turn of the event loop and the growth of the memory. */
const watch = () => {
  const atFirst = process.memoryUsage.rss()
  let longestMs = 0
  let mostBytes = atFirst
  let lastMs = cpuMs()
  const look = () => {
    const nowMs = cpuMs()
    longestMs = Math.max(longestMs, nowMs - lastMs)
    mostBytes = Math.max(mostBytes, process.memoryUsage.rss())
    lastMs = nowMs
  }
  const timer = setInterval(look, 5)
  return () => {
    clearInterval(timer)
    look()
    return { heldMs: longestMs, grownBytes: mostBytes - atFirst }
  }
}

for (const path of endpoints) {
  it.effect(`${path} answers each of them briefly and blocks no one`, () =>
    Effect.gen(function* () {
      const { adminKey, issueKey, send } = yield* TestApp
      const { secret } = yield* issueKey()
      for (const [name, body] of Object.entries(bodies)) {
        const stop = watch()
        const { status, text } = yield* send(path, {
          method: "POST",
          body,
          key: path === "/v1/keys" || path.startsWith("/v1/admin") ? null : secret,
          headers: {
            "content-type": "application/json",
            "x-admin-key": adminKey,
            ...(name === "a bomb" ? { "content-encoding": "gzip" } : {})
          }
        })
        const { grownBytes, heldMs } = stop()
        assert.isTrue(status < 500, `${name}: ${status} ${text.slice(0, 200)}`)
        assert.isBelow(text.length, LARGEST_ANSWER, name)
        assert.isBelow(heldMs, LONGEST_HOLD_MS, name)
        assert.isBelow(grownBytes, Math.max(SMALL_BYTES, MOST_TIMES_THE_BODY * body.length), name)
        assert.isObject(JSON.parse(text), name)
      }
    }).pipe(Effect.provide(app))
  )
}
