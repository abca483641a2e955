/**
 * The clients that `tollgate setup` knows: where each keeps its settings, and what they say for a
 * gateway. The key stays in an environment variable, unless it is to be written.
 */
import { jsonText } from "./JsonText.ts"
import { type Setting, type SettingsFormat } from "./SettingsText.ts"
import { tomlText } from "./TomlText.ts"
import { yamlText } from "./YamlText.ts"
import { type ClientDirectories } from "../../settings/CommandLine.ts"

/** The environment variable that holds the key. */
export const KEY_VARIABLE = "TOLLGATE_API_KEY"

export interface ChosenModel {
  readonly id: string
  /** Null: the gateway was not asked, or does not know. */
  readonly contextLength: number | null
  readonly maxOutput: number | null
}

export interface Target {
  /** The gateway's address, without `/v1`. */
  readonly url: string
  readonly model: ChosenModel
  readonly small: ChosenModel
  /** The key to be written; null: the variable is named. */
  readonly key: string | null
  readonly nowIso: string
}

export interface SettingsOfClient {
  readonly format: SettingsFormat
  /** Paths in the order in which they are looked for. Without a file the last one is made. */
  readonly files: (directories: ClientDirectories) => ReadonlyArray<string>
  readonly settings: (target: Target) => ReadonlyArray<Setting>
  /** Settings that the client prefers to these, with what to do. */
  readonly stronger?: ReadonlyArray<{ readonly path: ReadonlyArray<string>; readonly remedy: string }>
}

export interface SetupClient {
  readonly title: string
  /** The author whose models the client is made for. */
  readonly prefers: string
  readonly file: SettingsOfClient | null
  /** What to do beside the file. */
  readonly steps: (target: Target) => ReadonlyArray<string>
}

const set = (path: ReadonlyArray<string>, value: Setting["value"], more: Partial<Setting> = {}): Setting => ({
  path,
  value,
  ...more
})
const secret = { isSecret: true }
const byDefault = { isDefault: true }

const exported = (name = KEY_VARIABLE): string => `export ${name}=<your key>`

const anthropicModels = ["FABLE", "OPUS", "SONNET"].map((tier) => `ANTHROPIC_DEFAULT_${tier}_MODEL`)

const claudeCode: SetupClient = {
  title: "Claude Code",
  prefers: "anthropic/",
  file: {
    format: jsonText,
    files: ({ claude }) => [`${claude}/settings.json`],
    settings: ({ key, model, small, url }) => [
      set(["env", "ANTHROPIC_BASE_URL"], url),
      ...(key === null
        ? [set(["apiKeyHelper"], `printenv ${KEY_VARIABLE}`)]
        : [set(["env", "ANTHROPIC_AUTH_TOKEN"], key, secret)]),
      ...["ANTHROPIC_MODEL", ...anthropicModels].map((name) => set(["env", name], model.id)),
      set(["env", "ANTHROPIC_DEFAULT_HAIKU_MODEL"], small.id),
      // It assumes a million tokens for a model that it does not know.
      ...(model.contextLength === null
        ? []
        : [set(["env", "CLAUDE_CODE_MAX_CONTEXT_TOKENS"], String(model.contextLength))])
    ],
    stronger: [
      { path: ["env", "ANTHROPIC_AUTH_TOKEN"], remedy: "Claude Code prefers it to apiKeyHelper: remove it." },
      { path: ["env", "ANTHROPIC_API_KEY"], remedy: "Claude Code prefers it to apiKeyHelper: remove it." },
      { path: ["env", "ANTHROPIC_SMALL_FAST_MODEL"], remedy: "It replaces ANTHROPIC_DEFAULT_HAIKU_MODEL: remove it." },
      { path: ["model"], remedy: "It is the model of every session. Remove it, or choose with /model." }
    ]
  },
  steps: ({ key }) => [...(key === null ? [exported()] : []), "claude"]
}

const codex: SetupClient = {
  title: "Codex",
  prefers: "openai/",
  file: {
    format: tomlText,
    files: ({ codex }) => [`${codex}/config.toml`],
    settings: ({ key, model, url }) => [
      set(["model"], model.id),
      set(["model_provider"], "tollgate"),
      ...(model.contextLength === null ? [] : [set(["model_context_window"], model.contextLength)]),
      set(["model_providers", "tollgate", "name"], "tollgate"),
      set(["model_providers", "tollgate", "base_url"], `${url}/v1`),
      set(["model_providers", "tollgate", "wire_api"], "responses"),
      key === null
        ? set(["model_providers", "tollgate", "env_key"], KEY_VARIABLE)
        : set(["model_providers", "tollgate", "experimental_bearer_token"], key, secret)
    ],
    stronger: [
      { path: ["profile"], remedy: "The settings of this profile count before the ones above." },
      { path: ["model_providers", "tollgate", "env_key"], remedy: "Codex still wants this variable: remove it." }
    ]
  },
  steps: ({ key }) => [...(key === null ? [exported()] : []), "codex"]
}

const opencode: SetupClient = {
  title: "opencode",
  prefers: "",
  file: {
    format: jsonText,
    files: ({ config }) => [`${config}/opencode/opencode.jsonc`, `${config}/opencode/opencode.json`],
    settings: ({ key, model, small, url }) => [
      set(["$schema"], "https://opencode.ai/config.json", byDefault),
      set(["provider", "tollgate", "npm"], "@ai-sdk/openai-compatible"),
      set(["provider", "tollgate", "name"], "tollgate"),
      set(["provider", "tollgate", "options", "baseURL"], `${url}/v1`),
      set(["provider", "tollgate", "options", "apiKey"], key ?? `{env:${KEY_VARIABLE}}`, key === null ? {} : secret),
      ...[...new Map([model, small].map((each) => [each.id, each])).values()].flatMap(opencodeModel),
      set(["model"], `tollgate/${model.id}`),
      set(["small_model"], `tollgate/${small.id}`)
    ]
  },
  steps: ({ key }) => [...(key === null ? [exported()] : []), "opencode"]
}

const opencodeModel = ({ contextLength, id, maxOutput }: ChosenModel): ReadonlyArray<Setting> => {
  const path = ["provider", "tollgate", "models", id]
  return [
    set([...path, "name"], id, byDefault),
    ...(contextLength === null
      ? []
      : [
          set([...path, "limit", "context"], contextLength, byDefault),
          set([...path, "limit", "output"], maxOutput ?? Math.min(contextLength, 32_000), byDefault)
        ])
  ]
}

const clineSettings = ["providers", "openai-compatible"]

const cline: SetupClient = {
  title: "Cline",
  prefers: "",
  file: {
    format: jsonText,
    files: ({ cline }) => [`${cline}/data/settings/providers.json`],
    settings: ({ key, model, nowIso, url }) => [
      set(["version"], 1, byDefault),
      set(["lastUsedProvider"], "openai-compatible"),
      set(["modes"], {}, byDefault),
      set([...clineSettings, "settings", "provider"], "openai-compatible"),
      ...(key === null ? [] : [set([...clineSettings, "settings", "apiKey"], key, secret)]),
      set([...clineSettings, "settings", "model"], model.id),
      set([...clineSettings, "settings", "baseUrl"], `${url}/v1`),
      set([...clineSettings, "updatedAt"], nowIso, byDefault),
      set([...clineSettings, "tokenSource"], "manual", byDefault)
    ],
    stronger: [
      { path: [...clineSettings, "settings", "apiKey"], remedy: "Cline prefers it to the variable: remove it." }
    ]
  },
  steps: ({ key }) => (key === null ? [exported("OPENAI_API_KEY"), "cline"] : ["cline"])
}

const continued: SetupClient = {
  title: "Continue",
  prefers: "",
  file: {
    format: yamlText,
    files: ({ continue: directory }) => [`${directory}/config.yaml`],
    settings: (target) => [
      ...continueModel(target, target.model, ["chat", "edit", "apply"]),
      ...(target.small.id === target.model.id ? [] : continueModel(target, target.small, ["apply", "summarize"]))
    ]
  },
  steps: ({ key }) => (key === null ? [exported(), "cn"] : ["cn"])
}

const continueModel = (
  { key, url }: Target,
  { contextLength, id }: ChosenModel,
  roles: ReadonlyArray<string>
): ReadonlyArray<Setting> => {
  const entry = ["models", `tollgate ${id}`]
  return [
    set([...entry, "provider"], "openai"),
    set([...entry, "model"], id),
    set([...entry, "apiBase"], `${url}/v1`),
    set([...entry, "apiKey"], key ?? `\${{ secrets.${KEY_VARIABLE} }}`, key === null ? {} : secret),
    ...(contextLength === null ? [] : [set([...entry, "defaultCompletionOptions"], { contextLength }, byDefault)]),
    set([...entry, "roles"], roles, byDefault),
    set([...entry, "capabilities"], ["tool_use"], byDefault)
  ]
}

const cursor: SetupClient = {
  title: "Cursor",
  prefers: "",
  file: null,
  steps: ({ key, model, url }) => [
    "Open Cursor Settings, Models, API Keys.",
    `Switch on "OpenAI API Key" and enter ${key ?? "your key"}.`,
    `Switch on "Override OpenAI Base URL" and enter ${url}/v1`,
    `Choose "Add model", enter ${model.id} and switch it on.`,
    "Cursor's servers call the address, so it must be reachable from the internet by HTTPS."
  ]
}

export const setupClients = {
  "claude-code": claudeCode,
  codex,
  opencode,
  cline,
  continue: continued,
  cursor
} as const satisfies Readonly<Record<string, SetupClient>>
