/**
 * An example of each operation's request and successful reply, for the OpenAPI document. Tests
 * decode them with the schemas of the endpoints.
 */
import { providerExamples } from "./ExampleProviders.ts"
import { operationExamples } from "./ExamplesOfOperations.ts"
import {
  account,
  adminGeneration,
  at,
  changedKey,
  chat,
  claude,
  dependency,
  done,
  generation,
  generationId,
  issued,
  key,
  keyId,
  messages,
  model,
  modelEntry,
  models,
  newKey,
  page,
  requestRow,
  response,
  signedIn,
  usage,
  user,
  userId
} from "./ExampleRecords.ts"
import { outage, overview, ownSums, provider, report, series } from "./ExampleFigures.ts"

export interface OperationExample {
  readonly request?: unknown
  readonly response?: unknown
}

export const examples: Readonly<Record<string, OperationExample>> = {
  "chat.complete": {
    request: chat,
    response: {
      id: "chatcmpl_01a2c7be3f1d4b0f8a55a3ce4f9d7b10",
      object: "chat.completion",
      created: 1_763_798_400,
      model,
      provider: "openai",
      choices: [{ index: 0, message: { role: "assistant", content: "Hello!" }, finish_reason: "stop" }],
      usage,
      cache_hit: false,
      generation_id: generationId,
      system_fingerprint: null
    }
  },
  "messages.create": {
    request: { model: claude, max_tokens: 50, messages },
    response: {
      id: "msg_01a2c7be3f1d4b0f8a55a3ce4f9d7b10",
      type: "message",
      role: "assistant",
      model: claude,
      content: [{ type: "text", text: "Hello!" }],
      stop_reason: "end_turn",
      stop_sequence: null,
      usage: { input_tokens: 12, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 3 }
    }
  },
  "messages.countTokens": { request: { model: claude, messages }, response: { input_tokens: 12 } },
  "responses.create": { request: { model, input: "Say hello." }, response },
  "storedResponses.retrieve": { response },
  "storedResponses.remove": { response: { id: response.id, object: "response", deleted: true } },
  "storedResponses.inputItems": {
    response: {
      object: "list",
      data: [{ type: "message", id: "msg_1", role: "user", content: [{ type: "input_text", text: "Say hello." }] }],
      first_id: "msg_1",
      last_id: "msg_1",
      has_more: false
    }
  },
  "embeddings.embed": {
    request: { model: "openai/text-embedding-3-small", input: ["a first text", "a second text"] },
    response: {
      object: "list",
      data: [
        { object: "embedding", index: 0, embedding: [0.12, -0.03] },
        { object: "embedding", index: 1, embedding: [0.08, 0.11] }
      ],
      model: "openai/text-embedding-3-small",
      provider: "openai",
      usage
    }
  },
  "route.preview": {
    request: chat,
    response: {
      object: "route.preview",
      model,
      sort: "price",
      prompt_tokens: 12,
      likely_completion_tokens: 50,
      candidates: [
        {
          provider: "openai",
          model,
          fallback_model: false,
          expected_cost_usd: 0.0000318,
          price: { prompt: 0.15, completion: 0.6, cached_prompt: 0.075 },
          circuit: "closed",
          success_rate: 1,
          latency_ms: { p50: 380, p99: 1_900 },
          throughput_tps: 88
        }
      ],
      excluded: [{ slug: "azure", model, reason: "data_collection", expected_cost_usd: null }],
      error: null
    }
  },
  "models.list": { response: models },
  "models.retrieve": { response: modelEntry },
  "models.retrieveByAuthor": { response: modelEntry },
  "generations.get": { response: generation },
  "generations.list": { response: page(generation) },
  "usage.read": { response: report },
  "keys.create": { request: newKey, response: issued },
  "keys.list": { response: { ...page(key), total: 1 } },
  "keys.get": { response: key },
  "keys.bulk": {
    request: { action: "disable", ids: [keyId] },
    response: {
      object: "bulk_change",
      action: "disable",
      changed: 1,
      unchanged: 0,
      failed: 0,
      data: [{ id: keyId, outcome: "changed", status: "disabled", error: null }]
    }
  },
  "keys.update": { request: changedKey, response: { ...key, monthly_budget_usd: 100 } },
  "keys.revoke": { response: { ...key, status: "revoked", revoked_at: at } },
  "keys.rotate": { request: { grace_seconds: 3_600 }, response: issued },
  "ownKey.get": { response: key },
  "privacy.preview": {
    request: { text: "Write to ann@example.com" },
    response: {
      masked_text: "Write to [EMAIL_1]",
      entities: [{ type: "EMAIL", placeholder: "[EMAIL_1]", start: 9, end: 24, message_index: null, path: "text" }],
      counts: { EMAIL: 1 },
      would_block: true,
      policy_version: "1-5f0c2a9b7d31"
    }
  },
  "admin.overview": { response: overview },
  "series.read": { response: series },
  "adminGenerations.get": { response: adminGeneration },
  "adminGenerations.list": { response: page(adminGeneration) },
  "adminRequests.list": { response: page(requestRow) },
  "ownedRequests.list": { response: page(requestRow) },
  "adminUsage.read": { response: report },
  "ownedGenerations.get": { response: { ...generation, key_id: keyId, key_name: "notebook" } },
  "ownedGenerations.list": { response: page({ ...generation, key_id: keyId, key_name: "notebook" }) },
  "adminModels.list": { response: models },
  "ownedModels.list": { response: models },
  "adminProviders.list": { response: { object: "list", data: [provider] } },
  "adminProviders.get": { response: { ...provider, outages: [outage] } },
  ...providerExamples,
  ...operationExamples,
  "auth.start": {
    request: { email: "ann@example.com" },
    response: {
      challenge_id: "chl_01a2c7b0a1e24c7d9d0b6f2a8c4e1f35",
      channel: "email",
      expires_in: 600,
      resend_after: 60,
      masked_destination: "a***@example.com"
    }
  },
  "auth.verify": {
    request: { challenge_id: "chl_01a2c7b0a1e24c7d9d0b6f2a8c4e1f35", code: "482913" },
    response: signedIn
  },
  "auth.refresh": { request: { refresh_token: "rt_01a2c7b0.4b7d0c" }, response: signedIn },
  "auth.logout": { request: { refresh_token: "rt_01a2c7b0.4b7d0c" }, response: done },
  "auth.authorize": {
    response: { authorization_url: "https://accounts.example.com/authorize?state=abc", expires_in: 600 }
  },
  "auth.callback": { response: signedIn },
  "auth.mailbox": {
    response: {
      object: "list",
      data: [{ channel: "email", destination: "ann@example.com", code: "482913", sent_at: at }]
    }
  },
  "auth.consoleLink": {
    request: { token: "kT2v0d8Jx1cWq5mZ7hR3yB9nL4sF6gA0eU_pVtXoI-M" },
    response: { admin_key: "tga-5Jx1cWq5mZ7hR3yB9nL4sF6gA0eUpVtXoIMkT2v0d8" }
  },
  "auth.keySet": { response: { keys: [{ kty: "EC", crv: "P-256", kid: "1", x: "f83OJ3D2", y: "x_FEzRu9" }] } },
  "signInMethods.read": { response: { channels: ["email"], providers: ["google"], development_mailbox: false } },
  "me.read": { response: user },
  "me.sessions": {
    response: {
      object: "list",
      data: [
        {
          id: "ses_01a2c7b0a1e24c7d9d0b6f2a8c4e1f35",
          created_at: at,
          last_used_at: at,
          expires_at: "2026-12-22T08:00:00.000Z",
          signed_in_by: "email",
          user_agent: "Mozilla/5.0",
          current: true
        }
      ]
    }
  },
  "me.revoke": { response: done },
  "portal.list": { response: { ...page({ ...key, owner: userId }), total: 1 } },
  "portal.get": { response: { ...key, owner: userId } },
  "portal.create": {
    request: { name: "notebook", monthly_budget_usd: 5 },
    response: { ...issued, name: "notebook", monthly_budget_usd: 5, owner: userId }
  },
  "portal.update": { request: changedKey, response: { ...key, owner: userId } },
  "portal.revoke": { response: { ...key, owner: userId, status: "revoked", revoked_at: at } },
  "portal.rotate": { request: { grace_seconds: 3_600 }, response: { ...issued, owner: userId } },
  "portal.grants": {
    response: {
      object: "grants",
      tier: "pro",
      scopes: ["chat:write", "models:read"],
      monthly_budget_usd: 20,
      available_usd: 15,
      month_used_usd: 2.5,
      keys: 1,
      most_keys: 50
    }
  },
  "portal.usage": {
    response: {
      object: "usage",
      from: "2026-11-01T00:00:00.000Z",
      to: "2026-12-01T00:00:00.000Z",
      total: ownSums,
      by_day: [{ date: "2026-11-22", ...ownSums }],
      by_model: [{ model, ...ownSums }],
      by_key: [{ key_id: keyId, name: "notebook", ...ownSums }]
    }
  },
  "users.list": { response: { ...page(account), total: 1 } },
  "users.get": { response: account },
  "users.grant": { request: { email: "ann@example.com", role: "admin" }, response: { ...account, role: "admin" } },
  "users.update": { request: { grants: { monthly_budget_usd: 20 } }, response: account },
  "metrics.read": { response: "tollgate_requests_total 42\n" },
  "health.report": {
    response: {
      status: "ok",
      version: "0.1.0",
      uptime_s: 86_400,
      dependencies: { database: dependency, limit_store: dependency, cache: dependency },
      reasons: [],
      providers: [{ slug: "openai", status: "ok", circuit: "closed", since: null, models_down: 0 }]
    }
  },
  "health.live": { response: { status: "ok" } },
  "health.ready": { response: { status: "ok" } }
}
