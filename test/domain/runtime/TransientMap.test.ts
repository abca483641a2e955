import { memoryUsage } from "node:process"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { describe, expect, it } from "vitest"
import { TransientMap } from "../../../src/domain/runtime/TransientMap.ts"

setFlagsFromString("--expose-gc")
const collect: (options: { type: "major" | "minor" }) => void = runInNewContext("gc")

describe("TransientMap", () => {
  it("holds what was set and not deleted", () => {
    const map = new TransientMap<string, number>()
    map.set("a", 1)
    map.set("b", 2)
    map.set("a", 3)
    expect([map.size, map.get("a"), map.get("b"), map.get("c")]).toEqual([2, 3, 2, undefined])
    expect([map.delete("a"), map.delete("a"), map.has("a"), map.has("b")]).toEqual([true, false, false, true])
    expect(map.values()).toEqual([2])
  })

  it("lists its entries", () => {
    const map = new TransientMap<string, number>()
    map.set("a", 1)
    map.set("b", 2)
    map.delete("a")
    expect(map.entries()).toEqual([["b", 2]])
  })

  it("keeps its entries and their order when it renews its table", () => {
    const map = new TransientMap<number, number>()
    for (let key = 0; key < 10_000; key++) {
      map.set(key, key)
      if (key >= 100) map.delete(key - 100)
    }
    expect(map.values()).toEqual(Array.from({ length: 100 }, (_, index) => 9_900 + index))
  })

  it("visits no entry that was deleted meanwhile", () => {
    const map = new TransientMap<number, number>()
    for (let key = 0; key < 200; key++) map.set(key, key)
    const visited: Array<number> = []
    map.forEach((value, key) => {
      visited.push(value)
      for (let other = key; other < 150; other++) map.delete(other)
    })
    expect(visited).toEqual([0, ...Array.from({ length: 50 }, (_, index) => 150 + index)])
  })

  it("does not keep what was deleted alive until a full collection", () => {
    const map = new TransientMap<number, ReadonlyArray<object>>()
    const churn = (from: number, to: number): void => {
      for (let key = from; key < to; key++) {
        map.set(
          key,
          Array.from({ length: 500 }, () => ({ key }))
        )
        map.delete(key - 32)
      }
    }
    churn(0, 100)
    // The table is now in the old generation, as that of a map that lives long.
    collect({ type: "major" })
    const before = memoryUsage().heapUsed
    churn(100, 1_000)
    collect({ type: "minor" })
    collect({ type: "minor" })
    // 900 values of 30 kB.
    expect(memoryUsage().heapUsed - before).toBeLessThan(10_000_000)
  })
})
