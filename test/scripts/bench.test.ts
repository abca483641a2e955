/**
 * The benchmark's command line and table. The measuring itself needs a quiet machine and runs by
 * hand.
 */
import { assert, describe, it } from "@effect/vitest"
import { parseOptions } from "../../scripts/bench/options.ts"
import { cpuMicros, residentMib } from "../../scripts/bench/processStat.ts"
import { awkward, prose } from "../../scripts/bench/prose.ts"
import { median, quantile } from "../../scripts/bench/quantile.ts"
import { slopeOf } from "../../scripts/bench/slope.ts"
import { ratios, render } from "../../scripts/bench/report.ts"

describe("parseOptions", () => {
  it("has defaults for everything", () => {
    assert.deepStrictEqual(parseOptions([]), {
      seconds: 8,
      phases: [
        "misses",
        "hits",
        "portkey",
        "prompts",
        "agents",
        "streams",
        "crowd",
        "telemetry",
        "promises",
        "durability",
        "workers",
        "start"
      ],
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

  it("soaks only when asked to", () => {
    assert.deepStrictEqual(parseOptions(["--only", "soak", "--seconds", "600"]).phases, ["soak"])
  })

  it("refuses what it does not know, and says how it is meant", () => {
    assert.throws(
      () => parseOptions(["--only", "both"]),
      /--only both: one of misses, hits, portkey, prompts, agents, streams, crowd, telemetry, promises, durability, workers, start, soak\nusage:/
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

describe("quantiles and slopes", () => {
  it("finds medians of even and odd counts, and a quantile's value", () => {
    assert.strictEqual(median([3, 1, 2]), 2)
    assert.strictEqual(median([4, 1, 2, 3]), 2.5)
    assert.strictEqual(quantile([1, 2, 3, 4], 0.99), 4)
    assert.isNaN(median([]))
  })

  it("fits a line, and says how sure its slope is", () => {
    assert.deepStrictEqual(
      slopeOf([
        [0, 1],
        [1, 3],
        [2, 5]
      ]),
      { slope: 2, error: 0 }
    )
    const { error, slope } = slopeOf([
      [0, 0],
      [1, 1],
      [2, 0],
      [3, 1]
    ])
    assert.closeTo(slope, 0.2, 1e-9)
    assert.closeTo(error, Math.sqrt(0.8 / 2 / 5), 1e-9)
    assert.isNaN(
      slopeOf([
        [0, 1],
        [1, 2]
      ]).error
    )
  })
})

describe("prose", () => {
  it("is as long as asked, and the same each time", () => {
    assert.lengthOf(prose(1_000), 1_000)
    assert.strictEqual(prose(100), prose(1_000).slice(0, 100))
    for (const text of Object.values(awkward)) assert.lengthOf(text(1_001), 1_001)
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
