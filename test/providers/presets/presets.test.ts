import { assert, describe, it } from "@effect/vitest"
import { Redacted } from "effect"
import { findProvider } from "@pydantic/genai-prices"
import { listedUnits } from "../../../src/providers/presets/Offers.ts"
import { apiOf } from "../../../src/providers/presets/Api.ts"
import { presetProvider } from "../../../src/providers/presets/presets.ts"
import { presets } from "../../../src/providers/presets/Vendors.ts"

const apiKey = Redacted.make("sk-test")
const named = (slug: string) => {
  const preset = presets.find((each) => each.slug === slug)
  assert.isDefined(preset)
  return preset
}
const offer = (slug: string, id: string, nowMs?: number) =>
  presetProvider(named(slug), nowMs === undefined ? { apiKey } : { apiKey, nowMs }).models.find(
    (model) => model.id === id
  )

/** Prices in the lists that no served model has, with the models that have them. */
const unservedUnits = {
  storage_searches_kcount: "file search, which chat completions do not have",
  output_reasoning_mtok: "deep research",
  output_citation_mtok: "deep research",
  input_image_mtok: "image, realtime and multimodal embeddings models",
  cache_image_read_mtok: "image and realtime models",
  input_video_mtok: "realtime and multimodal embeddings models",
  output_video_mtok: "video models",
  input_text_messages_kcount: "realtime models",
  audio_hours: "transcription",
  input_document_kpages: "recognition of documents",
  input_annotated_document_kpages: "recognition of documents",
  input_audio_hours: "transcription"
}

describe("presets", () => {
  it.each(presets.map((preset) => [preset.slug, preset] as const))("%s makes a valid config", (_slug, preset) => {
    const config = presetProvider(preset, { apiKey, baseUrl: "https://example.test/v1/" })
    assert.strictEqual(config.baseUrl, "https://example.test/v1")
    assert.strictEqual(config.models.length > 0, preset.priceLists.length > 0)
    assert.strictEqual(new Set(config.models.map(({ id }) => id)).size, config.models.length)
    for (const { id, pricing, upstream } of config.models) {
      assert.match(id, /^[a-z0-9][a-z0-9.-]*\/[a-z0-9][a-z0-9.:_-]*$/)
      assert.isNotEmpty(upstream)
      for (const price of [pricing.prompt, pricing.completion, pricing.cachedPrompt ?? 0]) {
        assert.isTrue(Number.isSafeInteger(price) && price >= 0, `${id} ${price}`)
      }
    }
    assert.match(preset.env, /^[A-Z]+(_[A-Z]+)*_(API_KEY|BASE_URL)$/)
    assert.strictEqual(preset.policySource === null, preset.policySource?.source === undefined)
  })

  it("have distinct slugs and variables", () => {
    assert.strictEqual(new Set(presets.map(({ slug }) => slug)).size, presets.length)
    assert.strictEqual(new Set(presets.map(({ env }) => env)).size, presets.length)
  })

  it("use the vendor's own address unless another is given", () => {
    assert.strictEqual(presetProvider(named("openai"), { apiKey }).baseUrl, "https://api.openai.com/v1")
    assert.strictEqual(named("azure").baseUrl, null)
    assert.deepStrictEqual(
      presetProvider(named("azure"), { apiKey, baseUrl: "https://r.openai.azure.com/openai/v1" }).auth,
      {
        type: "header",
        name: "api-key"
      }
    )
    assert.deepStrictEqual(
      presetProvider(named("ollama"), { apiKey: null, baseUrl: "http://localhost:11434/v1" }).auth,
      { type: "none" }
    )
  })

  it("know their vendors' names, snapshots and other spellings, and no other model's", () => {
    const aliases = (slug: string, id: string) => offer(slug, id)?.aliases
    assert.deepStrictEqual(aliases("openai", "openai/gpt-4o"), {
      "gpt-4o": "gpt-4o",
      "gpt-4o-2024-08-06": "gpt-4o-2024-08-06",
      "gpt-4o-2024-11-20": "gpt-4o-2024-11-20"
    })
    assert.deepInclude(aliases("openai", "openai/gpt-5.1"), {
      "gpt-5-1": "gpt-5.1",
      "gpt-5-1-2025-11-13": "gpt-5.1-2025-11-13"
    })
    assert.notProperty(aliases("openai", "openai/gpt-5.1"), "gpt-5.1-codex")
    assert.deepStrictEqual(aliases("anthropic", "anthropic/claude-sonnet-4.5"), {
      "claude-sonnet-4-5": "claude-sonnet-4-5",
      "claude-sonnet-4.5": "claude-sonnet-4-5"
    })
    assert.deepInclude(aliases("anthropic", "anthropic/claude-opus-4.5"), { "claude-4-5-opus": "claude-opus-4-5" })
  })

  it("price models in pico-USD a token, with their context and cache price", () => {
    assert.deepStrictEqual(offer("openai", "openai/gpt-4o-mini"), {
      id: "openai/gpt-4o-mini",
      upstream: "gpt-4o-mini",
      aliases: { "gpt-4o-mini": "gpt-4o-mini", "gpt-4o-mini-2024-07-18": "gpt-4o-mini-2024-07-18" },
      contextLength: 128_000,
      maxCompletionTokens: null,
      pricing: {
        prompt: 150_000,
        completion: 600_000,
        cachedPrompt: 75_000,
        rare: { cache_write: 150_000, web_search: 10_000_000_000 },
        serviceTiers: { flex: 0.5 }
      },
      embeddings: false,
      prefill: false,
      hidesReasoning: false
    })
    assert.deepInclude(offer("openai", "openai/text-embedding-3-small"), { embeddings: true, contextLength: 8_192 })
    assert.isTrue(offer("mistral", "mistralai/mistral-embed")?.embeddings)
  })

  it("take the tiers of long prompts, the price of the day, and the dearest hour", () => {
    assert.deepStrictEqual(offer("openai", "openai/gpt-5.4")?.pricing.tiers, [
      {
        abovePromptTokens: 271_999,
        prompt: 5_000_000,
        completion: 22_500_000,
        cachedPrompt: 500_000,
        rare: { cache_write: 5_000_000, web_search: 10_000_000_000 }
      }
    ])
    assert.deepStrictEqual(offer("openrouter", "x-ai/grok-4-fast")?.pricing.tiers, [
      { abovePromptTokens: 128_000, prompt: 400_000, completion: 1_000_000, cachedPrompt: 50_000 }
    ])
    assert.isUndefined(offer("anthropic", "anthropic/claude-opus-4.6")?.pricing.tiers, "given up in March")
    assert.strictEqual(offer("openai", "openai/gpt-5.4")?.pricing.prompt, 2_500_000)
    assert.strictEqual(offer("openai", "openai/o3", Date.UTC(2025, 5, 9))?.pricing.prompt, 10_000_000)
    assert.strictEqual(offer("openai", "openai/o3", Date.UTC(2025, 5, 10))?.pricing.prompt, 2_000_000)
    assert.strictEqual(offer("deepseek", "deepseek/deepseek-v4-flash")?.pricing.prompt, 440_000)
  })

  it("give one model one id at every vendor, and the vendor's own name upstream", () => {
    for (const slug of ["groq", "fireworks", "cerebras", "openrouter"]) {
      assert.isDefined(offer(slug, "openai/gpt-oss-120b"), slug)
    }
    assert.strictEqual(offer("fireworks", "openai/gpt-oss-120b")?.upstream, "accounts/fireworks/models/gpt-oss-120b")
    assert.strictEqual(offer("groq", "meta-llama/llama-3.3-70b-instruct")?.upstream, "llama-3.3-70b-versatile")
    assert.strictEqual(
      offer("together", "deepseek/deepseek-coder-33b-instruct")?.upstream,
      "deepseek-ai/deepseek-coder-33b-instruct"
    )
    assert.strictEqual(offer("mistral", "mistralai/codestral")?.upstream, "codestral-latest")
  })

  it("spell Claude's versions as everyone does, and know which continue a text", () => {
    assert.deepInclude(offer("anthropic", "anthropic/claude-sonnet-4.5"), {
      upstream: "claude-sonnet-4-5",
      prefill: true
    })
    assert.deepInclude(offer("anthropic", "anthropic/claude-opus-5"), { upstream: "claude-opus-5", prefill: false })
    assert.isFalse(offer("openrouter", "anthropic/claude-sonnet-4.5")?.prefill)
    assert.deepInclude(presetProvider(named("anthropic"), { apiKey }), {
      dialect: "anthropic",
      auth: { type: "header", name: "x-api-key" }
    })
    for (const retired of ["claude-2", "claude-3-opus", "claude-3.5-sonnet", "claude-sonnet-4.0"]) {
      assert.isUndefined(offer("anthropic", `anthropic/${retired}`), retired)
    }
  })

  it("offer Gemini's own models of the day, by its header and dialect", () => {
    const { auth, dialect, models } = presetProvider(named("gemini"), { apiKey })
    assert.strictEqual(dialect, "gemini")
    assert.deepStrictEqual(auth, { type: "header", name: "x-goog-api-key" })
    for (const { id } of models) assert.match(id, /^google\/gemini-(2\.5|[3-9]|embedding)/)
    assert.deepInclude(offer("gemini", "google/gemini-2.5-flash"), {
      upstream: "gemini-2.5-flash",
      pricing: {
        prompt: 300_000,
        completion: 2_500_000,
        cachedPrompt: 30_000,
        rare: { prompt_audio: 1_000_000, cached_audio: 100_000, web_search: 35_000_000_000 }
      }
    })
    assert.isTrue(offer("gemini", "google/gemini-embedding-001")?.embeddings)
    for (const id of ["gemini-2.5-flash-tts", "gemini-3.1-flash-live-preview", "gemini-3-pro-image-preview"]) {
      assert.isUndefined(offer("gemini", `google/${id}`), id)
    }
  })

  it("call OpenAI's models by the API that they need, at OpenAI and at Azure", () => {
    const bySlug = (slug: string) =>
      presetProvider(named(slug), { apiKey, baseUrl: "https://x.test" }).models.map((model) => [model.id, model.api])
    for (const slug of ["openai", "azure"]) {
      const apis = new Map(bySlug(slug).map(([id, api]) => [id, api]))
      for (const name of ["o1-pro", "o3-pro", "gpt-5-pro", "gpt-5.2-pro", "gpt-5.1-codex-mini", "gpt-5.3-codex"]) {
        assert.strictEqual(apis.get(`openai/${name}`), "responses", `${slug}: ${name}`)
      }
      for (const name of ["gpt-5.2", "gpt-5.4", "gpt-5.4-mini", "gpt-5.6-sol", "gpt-6-sol", "codex-mini"]) {
        assert.strictEqual(apis.get(`openai/${name}`), "responses", `${slug}: ${name}`)
      }
      for (const name of ["o3", "o4-mini", "gpt-4o", "gpt-4.1", "gpt-5", "gpt-5-mini", "gpt-5.1", "gpt-3.5-turbo"]) {
        assert.isTrue(apis.has(`openai/${name}`), name)
        assert.isUndefined(apis.get(`openai/${name}`), `${slug}: ${name}`)
      }
    }
    const { models } = presetProvider(named("openrouter"), { apiKey })
    assert.isTrue(models.every(({ api }) => api === undefined))
  })

  it.each([
    ["gpt-5-2025-08-07", "chat"],
    ["gpt-5-4", "responses"],
    ["gpt-5-4-mini-2026-03-17", "responses"],
    ["gpt-5.10", "responses"],
    ["gpt-5-codex", "responses"],
    ["gpt-5-2-pro-2025-12-11", "responses"],
    ["o3-pro-2025-06-10", "responses"],
    ["gpt-5.3-chat-latest", "chat"],
    ["gpt-35-turbo", "chat"],
    ["gpt-4.1-2025-04-14", "chat"]
  ])("call %s by %s", (upstream, api) => {
    assert.strictEqual(apiOf(upstream), api)
  })

  it("know each price of the lists that they take", () => {
    const known = new Set([...Object.values(listedUnits), ...Object.keys(unservedUnits)])
    const lists = new Set(presets.flatMap(({ priceLists }) => priceLists))
    for (const list of lists) {
      for (const model of findProvider({ providerId: list })?.models ?? []) {
        const prices = Array.isArray(model.prices) ? model.prices.map((entry) => entry.prices) : [model.prices]
        const unknown = prices.flatMap((price) => Object.keys(price)).filter((unit) => !known.has(unit))
        assert.deepStrictEqual(unknown, [], `${list} ${model.id}`)
      }
    }
  })

  it("leave out what does not chat or embed, or is not sold there", () => {
    for (const id of [
      "whisper-1",
      "gpt-4o-mini-tts",
      "gpt-image-1",
      "moderation",
      "davinci",
      "gpt-realtime",
      "ft:gpt-4o",
      "gpt-oss-20b"
    ]) {
      assert.isUndefined(offer("openai", `openai/${id}`), id)
    }
  })
})
