import { Effect, Result } from "effect"
import { memoryUsage } from "node:process"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { describe, expect, it } from "vitest"
import { Batches } from "../../../src/domain/runtime/Batches.ts"
import { resultFn } from "../../../src/domain/runtime/ResultFn.ts"

setFlagsFromString("--expose-gc")
const collect: (options: { type: "major" | "minor" }) => void = runInNewContext("gc")

const halved = resultFn(function* (text: string) {
  const half = yield* text.length % 2 === 0 ? Result.succeed(text.length / 2) : Result.fail("odd")
  return text.slice(half)
})

/** What 900 calls with 30 kB each keep until the next full collection, in bytes. */
const keptBy = (call: (values: ReadonlyArray<number>) => void): number => {
  const calls = (count: number) => {
    for (let at = 0; at < count; at++) call(Array.from({ length: 3_800 }, (_, index) => at + index + 0.5))
  }
  calls(100)
  collect({ type: "major" })
  const before = memoryUsage().heapUsed
  calls(900)
  collect({ type: "minor" })
  collect({ type: "minor" })
  return memoryUsage().heapUsed - before
}

describe("resultFn", () => {
  it("runs its steps, and ends with the first failure", () => {
    expect(halved("tollgate")).toEqual(Result.succeed("gate"))
    expect(halved("toll-road")).toEqual(Result.fail("odd"))
  })

  it("keeps nothing of an ended call", () => {
    const sum = resultFn(function* (values: ReadonlyArray<number>) {
      return yield* Result.succeed(values.length)
    })
    expect(keptBy((values) => void sum(values))).toBeLessThan(5_000_000)
  })
})

describe("Batches.forEach", () => {
  it("visits all batches, ends with the first failure, and keeps nothing", async () => {
    const seen: Array<number> = []
    const events = Batches.of([1, 2]).after([0])
    await Effect.runPromise(events.forEach((batch) => Effect.sync(() => seen.push(...batch))))
    expect(seen).toEqual([0, 1, 2])
    const refused = Batches.of([1]).forEach(() => Effect.fail("refused"))
    expect(await Effect.runPromise(Effect.flip(refused))).toBe("refused")
    const read = (values: ReadonlyArray<number>) => Effect.runSync(Batches.of(values).forEach(() => Effect.void))
    expect(keptBy(read)).toBeLessThan(5_000_000)
  })
})
