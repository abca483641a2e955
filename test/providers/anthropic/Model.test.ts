import { assert, describe, it } from "@effect/vitest"
import { claudeModel, type ClaudeModel } from "../../../src/providers/anthropic/Model.ts"

const rows: ReadonlyArray<readonly [string, Partial<ClaudeModel>]> = [
  ["claude-2.1", { sampling: 2, thinking: "none", jsonSchema: false, prefill: true }],
  ["claude-instant-1.2", { sampling: 2, thinking: "none", prefill: true }],
  ["claude-3-haiku-20240307", { sampling: 2, thinking: "none", jsonSchema: false, forcedTools: true, prefill: true }],
  ["claude-3-5-sonnet-20241022", { thinking: "none", prefill: true }],
  ["claude-3-7-sonnet-latest", { sampling: 2, thinking: "budget", thinkingOff: "unasked" }],
  ["claude-sonnet-4-20250514", { sampling: 2, thinking: "budget", jsonSchema: false }],
  ["claude-opus-4@20250514", { sampling: 2, thinking: "budget" }],
  ["claude-opus-4-1-20250805", { sampling: 1, thinking: "budget", jsonSchema: false }],
  ["claude-haiku-4-5-20251001", { sampling: 1, thinking: "budget", jsonSchema: true, prefill: true }],
  ["anthropic.claude-opus-4-5-v1:0", { sampling: 1, jsonSchema: true, prefill: true }],
  ["claude-opus-4-6", { sampling: 1, thinking: "adaptive", hidesThoughts: false, prefill: false }],
  ["claude-opus-4-7", { sampling: 0, thinking: "adaptive", hidesThoughts: true, extraHighEffort: true }],
  ["claude-sonnet-5", { sampling: 0, thinkingOff: "disabled", forcedTools: true }],
  ["claude-sonnet-5-5", { thinkingOff: "between_tools", forcedTools: false }],
  ["claude-opus-5-20260724", { thinkingOff: "disabled", forcedTools: true }],
  ["claude-opus-5.5", { thinkingOff: "never", forcedTools: false }],
  ["claude-haiku-5-5", { thinkingOff: "disabled", forcedTools: true }],
  ["claude-fable-5", { thinkingOff: "never", forcedTools: true }],
  ["claude-fable-5-1", { thinkingOff: "never", forcedTools: false }],
  ["CLAUDE-5-OPUS", { sampling: 0, thinkingOff: "disabled" }],
  ["claude-future", { sampling: 0, thinking: "adaptive", jsonSchema: true, forcedTools: true, prefill: false }],
  ["kimi-k3", { sampling: 2, thinking: "budget", jsonSchema: false, forcedTools: true, prefill: true }]
]

describe("claudeModel", () => {
  it.each(rows)("knows what %s takes", (name, taken) => {
    assert.deepInclude(claudeModel(name), taken)
  })
})
