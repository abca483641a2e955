/**
 * The privacy guard on a megabyte of the inputs that are slowest to search: less than a second of
 * processor time, or the search is aborted.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { makeScanner } from "../../src/gateway/privacy/Scanner.ts"
import { TimeBudget } from "../../src/gateway/privacy/TimeBudget.ts"
import { requestWith } from "../gateway/plans.ts"
import { everything, maskAtOnce, scanned } from "../gateway/privacy/scanning.ts"

/** A budget with the gateway's own limit. */
const budget = (): TimeBudget => new TimeBudget(() => process.hrtime.bigint())

/** Milliseconds of this thread: other work on the machine does not count. */
const cpuMs = (run: () => void): number => {
  const before = process.threadCpuUsage()
  run()
  const { system, user } = process.threadCpuUsage(before)
  return (system + user) / 1_000
}

const megabyte = (piece: string): string => piece.repeat(Math.ceil(1_048_576 / piece.length)).slice(0, 1_048_576)

it.effect.each([
  "a@",
  "a.b@c.d-",
  "1",
  "4111 ",
  "4111 1111 1111 1112 ",
  "+1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 ",
  "001 ",
  "0041 44 668 18 0",
  "1.1.1.1.",
  "1:2:3:4:5:6:7:8 ",
  "CH9300762011623852958 ",
  "-sk-",
  "-eyJ",
  "-----BEGIN PRIVATE KEY-----",
  "://a:",
  "token=",
  String.raw`\n`
])("a megabyte of %j takes less than a second, or is aborted", (piece) =>
  Effect.gen(function* () {
    const scan = yield* makeScanner([])
    const text = megabyte(piece)
    const tookMs = cpuMs(() => scanned(scan, text, everything, budget()))
    assert.isBelow(tookMs, 1_000)
  })
)

it.effect.each([
  ["(a|aa|aaa|aaaa){1,100}[b-c]", "a", 1],
  [String.raw`[\s\S]{900}[!-/]`, "a", 1],
  ["[ab]*a[ab]{400}[c-d]", "ab", 0],
  [String.raw`x[\s\S]*y|x`, "x", 1_000]
] as const)(
  "a megabyte against an operator's pattern %s is aborted in less than a second",
  ([pattern, piece, matches]) =>
    Effect.gen(function* () {
      const scan = yield* makeScanner([{ name: "own", pattern }])
      const text = megabyte(piece)
      const tookMs = cpuMs(() => assert.isNull(scanned(scan, text, new Set(["own"]), budget())))
      assert.isBelow(tookMs, 1_000)
      // The next search works as usual.
      assert.lengthOf(scanned(scan, `${piece.repeat(1_000)}b!`, new Set(["own"])) ?? [], matches)
    })
)

it.effect.each(['"",', '"1234567",', String.raw`"\n",`, '"'])(
  "a megabyte of JSON of %j takes less than a second, or is aborted",
  (piece) =>
    Effect.gen(function* () {
      const scan = yield* makeScanner([])
      const content = `[${piece.repeat(Math.ceil(1_048_576 / piece.length))}""]`
      const request = requestWith({ messages: [{ role: "tool", tool_call_id: "call_1", content }] })
      const tookMs = cpuMs(() => maskAtOnce(scan, request, everything, budget()))
      assert.isBelow(tookMs, 1_000)
    })
)
