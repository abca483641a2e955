/** Providers that are added, in the examples of the OpenAPI document. */
const change = {
  object: "provider_change",
  slug: "openai",
  written: true,
  file: "./tollgate.yaml",
  backup: "/srv/tollgate/tollgate.yaml.20261122T090000000Z-3f9c2e.bak",
  text: "presets:\n  openai:\n    api_key: ${sealed:openai}\n",
  models: 61
}

export const providerExamples = {
  "adminProviderSetup.presets": {
    response: {
      object: "list",
      data: [
        {
          slug: "openai",
          name: "OpenAI",
          dialect: "openai",
          base_url: "https://api.openai.com/v1",
          takes_key: true,
          variable: "OPENAI_API_KEY",
          models: 61,
          in_use: false
        }
      ]
    }
  },
  "adminProviderSetup.test": {
    request: { slug: "acme", dialect: "openai", base_url: "https://api.example.com/v1", key_env: "ACME_KEY" },
    response: {
      object: "provider_test",
      slug: "acme",
      host: "api.example.com",
      ok: true,
      fault: null,
      key_checked: true,
      latency_ms: 180,
      models: [
        {
          id: "acme/small",
          upstream: "small",
          context_length: 128_000,
          embeddings: false,
          pricing: { prompt: 0.15, completion: 0.6, cached_prompt: null },
          listed: true
        }
      ]
    }
  },
  "adminProviderSetup.add": { request: { preset: "openai", key_env: "TEAM_OPENAI_KEY" }, response: change },
  "adminProviderSetup.replaceKey": { request: { key_env: "TEAM_OPENAI_KEY" }, response: change },
  "adminProviderSetup.remove": { response: { ...change, text: "", models: 0 } }
}
