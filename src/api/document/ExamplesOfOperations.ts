/** Examples of the endpoints for operators: audit, webhooks. */
import { at, keyId, page } from "./ExampleRecords.ts"

const deadLetter = {
  id: "dlv_01a2c7b0a1e24c7d9d0b6f2a8c4e1f35",
  event_id: "evt_01a2c7b0a1e24c7d9d0b6f2a8c4e1f36",
  type: "budget.exhausted",
  url: "https://hooks.example.com/tollgate",
  body: "{}",
  attempts: 11,
  last_error: "status 500",
  created_at: at,
  failed_at: at,
  retried_at: null
}

export const operationExamples = {
  "adminAudit.list": {
    response: page({
      id: "aud_01a2c7b0a1e24c7d9d0b6f2a8c4e1f35",
      created_at: at,
      action: "key.change",
      outcome: "done",
      actor: "admin",
      actor_id: "usr_01a2c7b0a1e24c7d9d0b6f2a8c4e1f36",
      actor_name: "ann@example.com",
      address: "203.0.113.7",
      request_id: "req_01a2c7b0a1e24c7d9d0b6f2a8c4e1f37",
      target: keyId,
      target_name: "production",
      details: { members: ["monthly_budget_usd"] },
      count: 1
    })
  },
  "adminAudit.refusedCredentials": {
    response: {
      object: "list",
      data: [{ address: "203.0.113.7", count: 12, first_at: at, last_at: at, by_credential: { api_key: 12 } }],
      has_more: false
    }
  },
  "adminSettings.read": {
    response: {
      object: "settings",
      file: "./tollgate.yaml",
      settings: { cache: { when: "deterministic", ttl_seconds: 600 } },
      environment: { TOLLGATE_PORT: 8_787 },
      sources: { "cache.ttl_seconds": "file" }
    }
  },
  "adminSettings.reload": {
    response: {
      object: "settings_reload",
      reloaded: true,
      changed: ["cache.ttl_seconds"],
      needs_restart: ["server.max_requests"],
      faults: []
    }
  },
  "adminWebhooks.list": {
    response: {
      object: "list",
      data: [
        {
          url: "https://hooks.example.com/tollgate",
          events: ["budget.exhausted"],
          pending: 1,
          delivered: 12,
          dead: 0,
          last_delivered_at: at,
          last_failed_at: at,
          last_error: "status 500"
        }
      ]
    }
  },
  "adminWebhooks.deliveries": {
    response: {
      object: "list",
      data: [
        {
          id: "41",
          event_id: deadLetter.event_id,
          type: "budget.exhausted",
          url: deadLetter.url,
          state: "pending",
          attempts: 2,
          last_error: "status 500",
          created_at: at,
          updated_at: at,
          next_attempt_at: at
        }
      ],
      has_more: false,
      next_cursor: null
    }
  },
  "adminWebhooks.deadLetters": { response: page(deadLetter) },
  "adminWebhooks.retry": { response: { ...deadLetter, retried_at: at } },
  "adminWebhooks.retryAll": { request: { url: deadLetter.url }, response: { retried: 3, left: 0 } }
}
