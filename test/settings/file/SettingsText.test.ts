/** Edits of the settings file: what is added and removed, and that everything else stays. */
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { entryIn, withKey, without, withPreset, withProvider } from "../../../src/settings/file/SettingsText.ts"

const acme = {
  slug: "acme",
  name: 'Acme: "fast" $$5',
  dialect: "openai",
  base_url: "https://api.acme.test/v1",
  api_key: "${sealed:acme}",
  models: [{ id: "acme/small", upstream: "small:free", context_length: 8000, pricing: { prompt: 0.15, completion: 0 } }]
}

const acmeLines = `  - slug: acme
    name: "Acme: \\"fast\\" $$5"
    dialect: openai
    base_url: https://api.acme.test/v1
    api_key: \${sealed:acme}
    models:
      - id: acme/small
        upstream: small:free
        context_length: 8000
        pricing: { prompt: 0.15, completion: 0 }
`
const key = { api_key: "${sealed:openai}" }

const full = `# of the team
routing: { retries: 2 } # two
providers: # ours
  # the first
  - slug: alpha
    dialect: mock
    api_key: \${ALPHA_KEY} # from the vault
    models:
      - { id: a/b, upstream: b, pricing: { prompt: 1, completion: 2 } }

  # the second
  - name: Beta
    slug: beta
    dialect: mock
    models: [{ id: a/c, upstream: c, pricing: { prompt: 1, completion: 2 } }]

# caching
cache:
  ttl_seconds: 60
`

const done = (result: Result.Result<string, string>): string => Result.getOrThrow(result)

describe("an added provider", () => {
  const cases: ReadonlyArray<readonly [name: string, before: string, after: string]> = [
    ["in an empty file", "", `providers:\n${acmeLines}`],
    ["in a file of comments", "# note\n", `# note\n\nproviders:\n${acmeLines}`],
    ["behind the others", full, full.replace("\n# caching", () => `${acmeLines}\n# caching`)],
    ["in a list that is empty", "providers: [] # none\nmarkup: 0\n", `providers:  # none\n${acmeLines}markup: 0\n`],
    ["in a section without content", "providers:\n\nmarkup: 0\n", `providers:\n${acmeLines}\nmarkup: 0\n`],
    ["in a file without a last line break", "markup: 0", `markup: 0\n\nproviders:\n${acmeLines}`]
  ]
  for (const [name, before, after] of cases) {
    it(`stands ${name}`, () => assert.strictEqual(done(withProvider(before, acme)), after))
  }

  it("stands at the indentation of the others, with the line breaks of the file", () => {
    const before = "providers:\r\n- slug: alpha\r\n  dialect: mock\r\n  models: []\r\nmarkup: 0\r\n"
    const after = done(withProvider(before, acme))
    assert.include(after, "models: []\r\n- slug: acme\r\n  name:")
    assert.isTrue(after.endsWith("completion: 0 }\r\nmarkup: 0\r\n"))
  })

  it("is left to the operator where the file cannot be edited line by line", () => {
    for (const before of [
      '{ "providers": [] }',
      "providers: [{ slug: a }]",
      "a: [",
      "- 1",
      "markup: 0\n---\nmarkup: 1\n"
    ]) {
      assert.isTrue(Result.isFailure(withProvider(before, acme)), before)
    }
  })
})

describe("a preset", () => {
  const cases: ReadonlyArray<readonly [name: string, before: string, after: string]> = [
    ["without a section", "markup: 0\n", "markup: 0\n\npresets:\n  openai:\n    api_key: ${sealed:openai}\n"],
    [
      "beside another",
      "presets:\n  groq:\n    timeouts: { total_ms: 1 }\n\n# end\nmarkup: 0\n",
      "presets:\n  groq:\n    timeouts: { total_ms: 1 }\n  openai:\n    api_key: ${sealed:openai}\n\n# end\nmarkup: 0\n"
    ],
    [
      "with members",
      "presets:\n    openai: # ours\n        api: chat\n",
      "presets:\n    openai: # ours\n        api_key: ${sealed:openai}\n        api: chat\n"
    ],
    [
      "with members on one line",
      "presets:\n  openai: { api: chat }\n",
      'presets:\n  openai: { api_key: "${sealed:openai}", api: chat }\n'
    ],
    [
      "with a key",
      "presets:\n  openai:\n    api: chat\n    api_key: ${OLD}\n",
      "presets:\n  openai:\n    api_key: ${sealed:openai}\n    api: chat\n"
    ]
  ]
  for (const [name, before, after] of cases) {
    it(`${name} gets the key`, () => assert.strictEqual(done(withPreset(before, "openai", key)), after))
  }

  it("loses its key, and itself if nothing else is in it", () => {
    for (const [, before] of cases.filter(([name]) => name !== "with a key")) {
      const added = done(withPreset(before, "openai", { ...key, base_url: "https://a.test/v1" }))
      const removed = done(without(added, "openai"))
      assert.strictEqual(removed.replace(/\n+presets:\n$/, "\n"), before)
    }
  })
})

describe("a provider", () => {
  it("is removed alone", () => {
    const added = done(withProvider(full, acme))
    assert.strictEqual(done(without(added, "acme")), full)
    assert.strictEqual(done(without(full, "beta")), full.replace(/ {2}- name: Beta[\s\S]*?\n\n/, "\n"))
    assert.isTrue(Result.isFailure(without(full, "gamma")))
  })

  it("gets another key", () => {
    const changed = done(withKey(full, "alpha", "${sealed:alpha}"))
    assert.strictEqual(changed, full.replace("${ALPHA_KEY}", "${sealed:alpha}"))
    assert.deepStrictEqual(entryIn(changed, "alpha"), { section: "providers", key: "${sealed:alpha}" })
    const added = done(withKey(full, "beta", "${sealed:beta}"))
    assert.include(added, "completion: 2 } }]\n    api_key: ${sealed:beta}\n")
  })
})
