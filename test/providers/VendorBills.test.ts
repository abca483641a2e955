/** What a vendor reports is billed as its published price list has it. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, Result } from "effect"
import { readFileSync, readdirSync } from "node:fs"
import { type Pricing, type TokenUsage } from "../../src/domain/pricing/Money.ts"
import { priceUsage } from "../../src/domain/pricing/Pricing.ts"
import { isCallClass, type RareClass, rareClasses, type UsageClass } from "../../src/domain/pricing/UsageClass.ts"
import { presetProvider } from "../../src/providers/presets/presets.ts"
import { presets } from "../../src/providers/presets/Vendors.ts"
import { decodeModel } from "../../src/settings/providers/ModelEntry.ts"
import { knownUsageMembers } from "./knownUsageMembers.ts"
import { type RecordedUsage, recordedUsages } from "./recordedUsage.ts"
import { type Dialect, dialects } from "./usageReplies.ts"

const dialectOf = (name: string): Dialect => dialects.find((dialect) => dialect.name === name) ?? assert.fail(name)

const modelOf = (entry: object) => Result.getOrThrow(decodeModel({ path: [], value: entry, hidden: new Set() }))

const pricingOf = ({ priced }: RecordedUsage): Pricing => {
  if ("entry" in priced) return modelOf(priced.entry).pricing
  const preset = presets.find(({ slug }) => slug === priced.preset) ?? assert.fail(priced.preset)
  const { models } = presetProvider(preset, { apiKey: Redacted.make("sk-test") })
  const { pricing } = models.find(({ id }) => id === priced.id) ?? assert.fail(priced.id)
  return priced.service_tiers === undefined ? pricing : { ...pricing, serviceTiers: priced.service_tiers }
}

describe("a recorded usage costs what the vendor's list says", () => {
  for (const recorded of recordedUsages) {
    const { beside, dialect, name, nano, usage } = recorded
    for (const way of ["whole", "stream"] as const) {
      it.effect(`${name}, ${way}`, () =>
        Effect.gen(function* () {
          const read = yield* dialectOf(dialect)[way](usage, beside)
          assert.isNotNull(read)
          if (read === null) return
          const cost = priceUsage(read, pricingOf(recorded), 0)
          assert.strictEqual(cost.totalNano, nano)
          assert.isEmpty(
            cost.lines.filter(({ assumed }) => assumed),
            "no price was guessed"
          )
        })
      )
    }
  }
})

/** The numbers of a usage, by their path. */
const numbersOf = (value: unknown, path: ReadonlyArray<string> = []): ReadonlyArray<string> => {
  if (typeof value === "number") return [path.join(".")]
  if (Array.isArray(value)) {
    return value.flatMap((entry: Record<string, unknown>) =>
      [...path, String(entry["modality"] ?? entry["ttl"])].join(".")
    )
  }
  if (typeof value !== "object" || value === null) return []
  return Object.entries(value).flatMap(([name, member]) => numbersOf(member, [...path, name]))
}

/** Every usage in the recorded replies. */
const usagesOf = (value: unknown): ReadonlyArray<unknown> => {
  if (Array.isArray(value)) return value.flatMap(usagesOf)
  if (typeof value !== "object" || value === null) return []
  return Object.entries(value).flatMap(([name, member]) =>
    name === "usage" || name === "usageMetadata" ? [member] : usagesOf(member)
  )
}

const folder = new URL("./fixtures/", import.meta.url)
const fixtures = readdirSync(folder).filter((name) => /\.(json|sse)$/.test(name))
const dialectOfFixture = (name: string): string => /^(anthropic|gemini|bedrock|responses)-/.exec(name)?.[1] ?? "openai"
const documentsOf = (name: string): ReadonlyArray<unknown> => {
  const text = readFileSync(new URL(name, folder), "utf8").replace(/^\uFEFF/, "")
  if (name.endsWith(".json")) return [JSON.parse(text)]
  return [...text.matchAll(/^data: ?(\{.*\})\s*$/gm)].map(([, data]) => JSON.parse(data ?? "null"))
}

describe("every number of a usage is known", () => {
  it.each(recordedUsages.map((recorded) => [recorded.name, recorded] as const))("%s", (_name, { dialect, usage }) => {
    const known = knownUsageMembers[dialect] ?? {}
    assert.deepStrictEqual(
      numbersOf(usage).filter((path) => !(path in known)),
      []
    )
  })

  it("in the recorded replies too", () => {
    let seen = 0
    for (const name of fixtures) {
      const known = knownUsageMembers[dialectOfFixture(name)] ?? {}
      for (const usage of documentsOf(name).flatMap(usagesOf)) {
        const paths = numbersOf(usage)
        seen += paths.length
        assert.deepStrictEqual(
          paths.filter((path) => !(path in known)),
          [],
          name
        )
      }
    }
    assert.isAbove(seen, 100)
  })
})

/** A usage of 1,000 and 1,000 tokens with seven of one member. */
const base: Readonly<Record<string, Record<string, unknown>>> = {
  openai: { prompt_tokens: 1_000, completion_tokens: 1_000 },
  responses: { input_tokens: 1_000, output_tokens: 1_000 },
  anthropic: { input_tokens: 1_000, output_tokens: 1_000 },
  gemini: { promptTokenCount: 1_000, candidatesTokenCount: 1_000 },
  bedrock: { inputTokens: 1_000, outputTokens: 1_000 }
}

const withMember = (dialect: string, path: string): Record<string, unknown> => {
  const usage = { ...base[dialect] }
  const [first = "", second] = path.split(".")
  if (second === undefined) return { ...usage, [first]: 7 }
  if (dialect === "gemini") {
    const cached = first === "cacheTokensDetails" ? { cachedContentTokenCount: 7 } : {}
    return { ...usage, ...cached, [first]: [{ modality: second, tokenCount: 7 }] }
  }
  if (dialect === "bedrock") return { ...usage, cacheWriteInputTokens: 7, [first]: [{ ttl: second, inputTokens: 7 }] }
  return { ...usage, [first]: { [second]: 7 } }
}

const countIn = ({ cachedTokens, completionTokens, promptTokens, rare = {} }: TokenUsage, name: UsageClass): number => {
  if (name === "prompt") return promptTokens
  if (name === "completion") return completionTokens
  return name === "cached_prompt" ? cachedTokens : (rare[name] ?? 0)
}

describe("every known member is billed as what it is", () => {
  const cases = Object.entries(knownUsageMembers).flatMap(([dialect, members]) =>
    Object.entries(members).map(([path, meaning]) => ({
      dialect,
      path,
      meaning,
      name: `${dialect} ${path}: ${meaning}`
    }))
  )
  it.effect.each(cases)(
    "$name",
    Effect.fnUntraced(function* ({ dialect, meaning, path }) {
      const read = yield* dialectOf(dialect).whole(withMember(dialect, path))
      assert.isNotNull(read)
      if (read === null) return
      const found = Object.keys(read.rare ?? {})
      if (meaning === "part" || meaning === "free" || meaning === "note") return assert.deepStrictEqual(found, [])
      const own = new Set(["prompt", "completion", "cached_prompt"]).has(meaning) ? [] : [meaning]
      assert.deepStrictEqual(found, own)
      const count = countIn(read, meaning)
      assert.isTrue(count === 7 || (own.length === 0 && count === 1_007), `${count}`)
    })
  )
})

describe("every class has a price in the settings", () => {
  const listed = { prompt: 1, completion: 2, cached_prompt: 0.5 }
  it.each(rareClasses.map((name) => [name] as const))("%s", (name: RareClass) => {
    const entry = { id: "a/b", upstream: "b", pricing: { ...listed, [name]: 3 } }
    const { pricing } = modelOf(entry)
    const quantity = 1_000
    const usage = { promptTokens: quantity, completionTokens: quantity, cachedTokens: 0, rare: { [name]: quantity } }
    const line = priceUsage(usage, pricing, 0).lines.find((each) => each.class === name)
    assert.strictEqual(line?.price, isCallClass(name) ? 3e9 : 3e6)
    assert.isUndefined(line?.assumed)
  })

  it("and none without one goes unseen", () => {
    const { pricing } = modelOf({ id: "a/b", upstream: "b", pricing: listed })
    for (const name of rareClasses) {
      if (name === "request") continue
      const usage = { promptTokens: 10, completionTokens: 10, cachedTokens: 0, rare: { [name]: 10 } }
      const line = priceUsage(usage, pricing, 0).lines.find((each) => each.class === name)
      // The dearest token costs 2 USD a million; the dearest published call 35 USD a thousand.
      assert.deepStrictEqual([line?.price, line?.assumed], [isCallClass(name) ? 35e9 : 2e6, true], name)
    }
  })
})
