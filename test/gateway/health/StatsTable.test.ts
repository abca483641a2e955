/** However counts are sent, returned and read: each call counts once, weighted by its age. */
import { assert, it } from "@effect/vitest"
import { Schema } from "effect"
import { SLOT_MS, SLOTS, StatsTable } from "../../../src/gateway/health/StatsTable.ts"

const Age = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: SLOTS - 1 }))
const Count = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 }))
const models = ["test/small", "test/large"] as const
const model = Schema.Literals(models)

const Step = Schema.Union([
  Schema.Struct({ step: Schema.Literal("count"), model, age: Age, count: Count }),
  // Another process counted: its counts are in the store, and known here once their minute is read.
  Schema.Struct({ step: Schema.Literal("other"), model, age: Age, count: Count }),
  // The own counts go to the store; the write of some minutes fails.
  Schema.Struct({ step: Schema.Literal("publish"), failing: Schema.Array(Age) }),
  Schema.Struct({ step: Schema.Literal("read"), age: Age })
])

const NOW_SLOT = 1_000
const weightOf = (slot: number): number => 0.5 ** ((NOW_SLOT - slot) / 5)

/** Calls of each model by minute. */
type Calls = Map<string, number>
const nameOf = (model: string, slot: number): string => `${model} ${slot}`
const add = (calls: Calls, name: string, count: number): void => void calls.set(name, (calls.get(name) ?? 0) + count)

it.prop(
  "no call is lost and none counts twice",
  { steps: Schema.Array(Step) },
  ({ steps }) => {
    const table = new StatsTable()
    const store = new Map<number, Map<string, number>>()
    const addToStore = (slot: number, counts: ReadonlyMap<string, number>) => {
      const stored = store.get(slot) ?? new Map<string, number>()
      for (const [name, count] of counts) add(stored, name, count)
      store.set(slot, stored)
    }
    const [own, others, known]: ReadonlyArray<Calls> = [new Map(), new Map(), new Map()]
    if (own === undefined || others === undefined || known === undefined) return assert.fail()
    for (const given of steps) {
      if (given.step === "publish") {
        for (const [slot, counts] of table.take()) {
          if (given.failing.includes(NOW_SLOT - slot)) table.putBack(slot, counts)
          else addToStore(slot, counts)
        }
      } else {
        const slot = NOW_SLOT - given.age
        if (given.step === "read") {
          table.setShared(slot, store.get(slot) ?? new Map())
          for (const model of models) known.set(nameOf(model, slot), others.get(nameOf(model, slot)) ?? 0)
        } else if (given.step === "count") {
          table.count("alpha", given.model, "calls", slot * SLOT_MS, given.count)
          add(own, nameOf(given.model, slot), given.count)
        } else {
          addToStore(slot, new Map([[`alpha ${given.model} calls`, given.count]]))
          add(others, nameOf(given.model, slot), given.count)
        }
      }
      let expected = 0
      for (const [name, count] of [...own, ...known]) expected += count * weightOf(Number(name.split(" ")[1]))
      assert.closeTo(table.snapshot("alpha", undefined, NOW_SLOT * SLOT_MS).calls, expected, 1e-6)
    }
  },
  { arbitrary: { size: 30, runs: 300 } }
)
