/** Merging settings into existing files: everything else stays, or the file is refused. */
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { jsonText } from "../../../src/cli/setup/JsonText.ts"
import { merged, type Setting, type SettingsFormat } from "../../../src/cli/setup/SettingsText.ts"
import { tomlText } from "../../../src/cli/setup/TomlText.ts"
import { yamlText } from "../../../src/cli/setup/YamlText.ts"

const merge = (format: SettingsFormat, text: string, settings: ReadonlyArray<Setting>) => {
  const result = merged(format, text, settings)
  return Result.isSuccess(result) ? result.success.text : `refused: ${result.failure}`
}

describe("JSON", () => {
  const settings: ReadonlyArray<Setting> = [
    { path: ["env", "URL"], value: "http://gateway" },
    { path: ["model"], value: "small" },
    { path: ["kept"], value: "ours", isDefault: true }
  ]

  it("keeps comments, order, trailing commas and the indentation", () => {
    const text = `// mine\n{\n\t"kept": "theirs", // why\n\t"env": {\n\t\t"A": 1, /* a */\n\t},\n\t"list": [1, 2,], // last\n}\n`
    assert.strictEqual(
      merge(jsonText, text, settings),
      `// mine\n{\n\t"kept": "theirs", // why\n\t"env": {\n\t\t"A": 1, /* a */\n\t\t"URL": "http://gateway",\n\t},\n\t"list": [1, 2,], // last\n\t"model": "small",\n}\n`
    )
  })

  it("changes a value in its place, and objects on one line stay on it", () => {
    assert.strictEqual(
      merge(jsonText, `{"env": {"URL": "old", "A": null}, "model": {"b": 1}, "kept": 0}`, settings),
      `{"env": {"URL": "http://gateway", "A": null}, "model": "small", "kept": 0}`
    )
    assert.strictEqual(
      merge(jsonText, "{}\r\n", [{ path: ["a", "b"], value: 1 }]),
      '{\r\n  "a": {\r\n    "b": 1\r\n  }\r\n}\r\n'
    )
    assert.strictEqual(
      merge(jsonText, `{\n    "a": 1 // note\n}`, [{ path: ["b"], value: 2 }]),
      `{\n    "a": 1, // note\n    "b": 2\n}`
    )
  })

  it("refuses what it cannot read, with the line", () => {
    for (const [text, why] of [
      ["{\n  a: 1\n}", /not valid JSON near line 2/],
      ['{"a": }', /not valid JSON/],
      ['{"a": 1} {"b": 2}', /not valid JSON/],
      ['{"a": 1,, "b": 2}', /not valid JSON/],
      ["[1]", /not a JSON object/],
      [`${'{"a":'.repeat(5_000)}1${"}".repeat(5_000)}`, /not valid JSON/],
      ['{"env": ["a"]}', /env\.URL cannot be set/],
      ['{"env": "text"}', /env\.URL cannot be set/]
    ] as const) {
      assert.match(merge(jsonText, text, settings), why, text.slice(0, 40))
    }
  })

  const Value = Schema.Record(Schema.String, Schema.Json)
  it.prop(
    "reads JSON as JSON.parse does, and changes nothing twice",
    { value: Value, indent: Schema.Literals([0, 1, 4]) },
    ({ indent, value }) => {
      const { __proto__: _, env: __, ...rest } = value
      const text = JSON.stringify(rest, null, indent)
      const once = merge(jsonText, text, settings)
      assert.deepStrictEqual(JSON.parse(once), {
        ...JSON.parse(text),
        env: { URL: "http://gateway" },
        model: "small",
        kept: "kept" in rest ? JSON.parse(text).kept : "ours"
      })
      assert.strictEqual(merge(jsonText, once, settings), once)
    }
  )
})

describe("TOML", () => {
  const settings: ReadonlyArray<Setting> = [
    { path: ["model"], value: "small" },
    { path: ["model_provider"], value: "gate" },
    { path: ["model_providers", "gate", "base_url"], value: "http://gateway/v1" },
    { path: ["model_providers", "gate", "env_key"], value: "KEY" }
  ]

  it("keeps comments, other tables and the order", () => {
    const text = `# mine\nmodel = "large" # for now\nnotify = [\n  "a",\n]\n\n# other\n[model_providers.other]\nname = "x"\n\n[[hooks]]\nrun = 1\n`
    assert.strictEqual(
      merge(tomlText, text, settings),
      `# mine\nmodel_provider = "gate"\nmodel = "small" # for now\nnotify = [\n  "a",\n]\n\n# other\n[model_providers.other]\nname = "x"\n\n[[hooks]]\nrun = 1\n\n[model_providers.gate]\nbase_url = "http://gateway/v1"\nenv_key = "KEY"\n`
    )
  })

  it("changes its own table in place, also with quoted names and Windows line breaks", () => {
    const text = `model = 'a'\r\nmodel_provider = "b"\r\n["model_providers".gate] # ours\r\nbase_url = 'http://old'\r\n\r\n[z]\r\n`
    assert.strictEqual(
      merge(tomlText, text, settings),
      `model = "small"\r\nmodel_provider = "gate"\r\n["model_providers".gate] # ours\r\nbase_url = "http://gateway/v1"\r\nenv_key = "KEY"\r\n\r\n[z]\r\n`
    )
  })

  it("refuses what it cannot read or keep", () => {
    assert.match(merge(tomlText, "model = ", settings), /not valid TOML/)
    assert.match(
      merge(tomlText, `model_providers = { gate = { env_key = "A" } }\n`, settings),
      /base_url cannot be set/
    )
    assert.match(merge(tomlText, `model = """\nlong\n"""\n`, settings), /model cannot be set/)
  })
})

describe("YAML", () => {
  const entry = "gate small"
  const settings: ReadonlyArray<Setting> = [
    { path: ["models", entry, "model"], value: "author/small" },
    { path: ["models", entry, "apiBase"], value: "http://gateway/v1" },
    { path: ["models", entry, "roles"], value: ["chat", "edit"], isDefault: true }
  ]
  const ours = `  - name: "gate small"\n    model: author/small\n    apiBase: "http://gateway/v1"\n    roles:\n      - chat\n      - edit\n`

  it("adds an entry behind the others, and keeps comments and what follows", () => {
    const text = `# mine\nname: Mine\nmodels:\n  - name: other # first\n    model: x\n    # the end\n\nrules: []\n`
    assert.strictEqual(
      merge(yamlText, text, settings),
      `# mine\nname: Mine\nmodels:\n  - name: other # first\n    model: x\n${ours}    # the end\n\nrules: []\n`
    )
    assert.strictEqual(merge(yamlText, "models: []\nname: A\n", settings), `models:\n${ours}name: A\n`)
    assert.strictEqual(merge(yamlText, "name: A", settings), `name: A\nmodels:\n${ours}`)
    assert.strictEqual(
      merge(yamlText, "models:\n- name: a\n  model: b\nname: A\n", settings.slice(0, 1)),
      'models:\n- name: a\n  model: b\n- name: "gate small"\n  model: author/small\nname: A\n'
    )
  })

  it("changes its own entry member by member", () => {
    const text = `models:\n  - name: gate small\n    model: old # now\n    roles:\n      - chat\n    mine: 1\n  - name: z\n`
    assert.strictEqual(
      merge(yamlText, text, settings),
      `models:\n  - name: gate small\n    model: author/small # now\n    roles:\n      - chat\n    mine: 1\n    apiBase: "http://gateway/v1"\n  - name: z\n`
    )
  })

  it("refuses what it cannot read or keep", () => {
    assert.match(merge(yamlText, "a: [", settings), /not YAML that can be edited/)
    assert.match(merge(yamlText, "models: [{name: other}]\n", settings), /cannot be set/)
    assert.match(merge(yamlText, "models:\n  - model: old\n    name: gate small\n", settings), /cannot be set/)
  })
})
