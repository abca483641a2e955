/** The benchmark's command line and its table; the measuring itself needs a quiet machine and runs by hand. */
import { assert, describe, it } from "@effect/vitest"
import { parseOptions } from "../../scripts/bench/options.ts"
import { cpuMicros, residentMib } from "../../scripts/bench/processStat.ts"
import { ratios, render } from "../../scripts/bench/report.ts"

describe("parseOptions", () => {
  it("has defaults for everything", () => {
    assert.deepStrictEqual(parseOptions([]), {
      seconds: 8,
      phases: ["misses", "hits", "portkey", "streams", "crowd", "durability"],
      streams: 200,
      crowd: 1_000,
      pace: 50,
      out: null
    })
  })

  it("takes a phase, a duration and a file", () => {
    assert.deepStrictEqual(
      parseOptions(["--only", "hits", "--seconds", "3", "--streams", "50", "--pace", "10", "--out", "a.json"]),
      {
        seconds: 3,
        phases: ["hits"],
        streams: 50,
        crowd: 50,
        pace: 10,
        out: "a.json"
      }
    )
  })

  it("refuses what it does not know, and says how it is meant", () => {
    assert.throws(
      () => parseOptions(["--only", "both"]),
      /--only both: one of misses, hits, portkey, streams, crowd, durability\nusage:/
    )
    assert.throws(() => parseOptions(["--seconds", "0"]), /--seconds 0: a whole number from 1 on/)
    assert.throws(() => parseOptions(["--fast"]), /--fast/)
  })
})

describe("report", () => {
  const table = new Map([
    ["bare proxy", { "req/s": 4000, errors: 0 }],
    ["tollgate", { "req/s": 1000, errors: 0 }]
  ])

  it("relates the gateway's figures to the bare proxy's", () => {
    assert.deepStrictEqual(ratios(table, "tollgate", "bare proxy"), { "req/s": 0.25, errors: Number.NaN })
    assert.deepStrictEqual(ratios(table, "tollgate", "nobody"), { "req/s": Number.NaN, errors: Number.NaN })
  })

  it("prints columns of equal width", () => {
    assert.deepStrictEqual(render("Title", table, ["tollgate", "bare proxy"]).split("\n"), [
      "Title",
      "                     req/s  errors",
      "bare proxy           4,000       0",
      "tollgate             1,000       0",
      "ratio to bare proxy  0.25x       -"
    ])
  })
})

describe("processStat", () => {
  it("reads this process's own use", { skip: process.platform !== "linux" }, () => {
    const used = process.cpuUsage()
    assert.closeTo(cpuMicros(process.pid), used.user + used.system, 200_000)
    assert.isAbove(residentMib(process.pid), 10)
  })

  it("fails for a process that is not there", { skip: process.platform !== "linux" }, () => {
    assert.throws(() => residentMib(999_999_999), /ENOENT/)
  })
})
