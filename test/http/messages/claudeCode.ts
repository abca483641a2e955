/**
 * Requests as Claude Code 2.1.330 sends them, from a recording: texts and schemas are shortened,
 * and identifiers replaced.
 */
import { type MessagesRequest } from "../../../src/api/Messages.ts"

const cache_control = { type: "ephemeral" }
const text = (words: string, more: object = {}) => ({ type: "text", text: words, ...more })

const tool = (name: string, more: object = {}) => ({
  name,
  description: `${name}, as Claude Code describes it.`,
  input_schema: {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    properties: { file_path: { type: "string", description: "The absolute path" } },
    required: ["file_path"],
    additionalProperties: false
  },
  ...more
})

const names = [
  "Agent",
  "Bash",
  "Edit",
  "ListAgents",
  "Read",
  "ReportFindings",
  "ScheduleWakeup",
  "Skill",
  "ToolSearch",
  "Workflow",
  "Write"
]

/** The client's own placeholder, which keeps the vendor's loading of tools active. */
const placeholder = {
  name: "DeferredToolPlaceholder",
  description: "Reserved placeholder that keeps deferred tool loading active; never call this tool.",
  input_schema: { type: "object", properties: {} },
  defer_loading: true
}

const userId = JSON.stringify({
  device_id: "d".repeat(64),
  account_uuid: "",
  session_id: "3f5b105b-4315-4c5e-9ad0-2ec84fa31233"
})

const environment = "# Environment\nYou have been invoked in the following environment: \n - Platform: linux\n"

export const firstTurn: MessagesRequest = {
  model: "claude-opus-5-5",
  messages: [
    {
      role: "user",
      content: [
        text("<system-reminder>\nCodebase and user instructions are shown below.\n</system-reminder>"),
        text("<system-reminder>\nAttribution for git commits.\n</system-reminder>"),
        text("Add 1 and 2, then look at the picture.")
      ]
    },
    { role: "system", content: [text(environment, { cache_control })], output_config: { effort: "medium" } }
  ],
  system: [
    text("x-anthropic-billing-header: cc_version=2.1.330.440; cc_entrypoint=sdk-cli;"),
    text("You are a Claude agent, built on Anthropic's Claude Agent SDK.", { cache_control }),
    text("\nYou are an agent working with the user toward their goals.", { cache_control })
  ],
  tools: [...names.map((name) => tool(name)), placeholder],
  metadata: { user_id: userId },
  max_tokens: 64_000,
  thinking: { type: "adaptive", display: "omitted" },
  context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
  output_config: { effort: "medium" },
  stream: true
}

const used = (id: string, name: string, input: object) => ({
  role: "assistant" as const,
  content: [{ type: "tool_use", id, name, input }]
})
const result = (id: string, content: ReadonlyArray<object>) => ({ tool_use_id: id, type: "tool_result", content })
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

/** After a search for a tool of an MCP server, a call of this tool, and a picture that was read. */
export const laterTurn: MessagesRequest = {
  ...firstTurn,
  messages: [
    ...firstTurn.messages.slice(0, 1),
    { role: "system", content: environment, output_config: { effort: "medium" } },
    used("toolu_1", "ToolSearch", { query: "select:mcp__demo__add", max_results: 3 }),
    {
      role: "user",
      content: [result("toolu_1", [{ type: "tool_reference", tool_name: "mcp__demo__add" }]), text("Tool loaded.")]
    },
    used("toolu_2", "mcp__demo__add", { a: 1, b: 2 }),
    { role: "user", content: [result("toolu_2", [text("3")])] },
    used("toolu_3", "Read", { file_path: "/home/ann/pixel.png" }),
    {
      role: "user",
      content: [
        {
          ...result("toolu_3", [{ type: "image", source: { type: "base64", data: pixel, media_type: "image/png" } }]),
          cache_control
        }
      ]
    }
  ],
  tools: [...(firstTurn.tools ?? []), tool("mcp__demo__add", { defer_loading: true })]
}
