/**
 * The gateway that all clients of this folder are run against, and the counts of their cases. A
 * case begins with its feature, as in test/clients.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { startGateway } from "./gateway.mjs"

const [, , root = "."] = process.argv
const usage = { prompt_tokens: 11, completion_tokens: 5, total_tokens: 16 }
const calls = ["Zürich 🏔", "東京"].map((place, index) => ({
  id: `call_${index}`,
  name: "get_weather",
  arguments: JSON.stringify({ place })
}))
/** A model of a provider of each dialect. */
export const models = ["test/chat", "responses/chat", "claude/chat", "gemini/chat", "bedrock/chat"]

const command = { command: "echo hello > hello.txt", description: "Writes hello.txt" }
/** Anthropic's words: those of a provider of its API go out as they are. */
const overflow = "prompt is too long: 9000 tokens > 8000 maximum"
const full = {
  status: 400,
  error: { message: overflow, type: "invalid_request_error", code: "context_length_exceeded" }
}
const fixtures = [
  ...models.map((model) => ({ match: { userMessage: `once full at ${model}`, sequenceIndex: 0 }, response: full })),
  { match: { userMessage: "very long" }, response: full },
  {
    match: { userMessage: "write hello.txt", hasToolResult: false },
    response: {
      reasoning: "Let me see.",
      toolCalls: [{ id: "call_bash", name: "Bash", arguments: JSON.stringify(command) }],
      usage
    }
  },
  { match: { userMessage: "write hello.txt", hasToolResult: true }, response: { content: "It is written.", usage } },
  { match: { userMessage: "say hello" }, response: { content: "Hello there.", usage } },
  { match: { userMessage: "both places", hasToolResult: false }, response: { toolCalls: calls, usage } },
  { match: { userMessage: "both places", hasToolResult: true }, response: { content: "Both are sunny.", usage } },
  {
    match: { userMessage: "who", responseFormat: "json_schema" },
    response: { content: `{"name":"Ada Lovelace","born":1815}`, usage }
  },
  { match: { userMessage: "create a detailed summary" }, response: { content: "The user wants a greeting.", usage } },
  { match: { userMessage: "think" }, response: { content: "Thought.", reasoning: "Let me think.", usage } }
]

export const gateway = await startGateway(root, fixtures)

const { dependencies } = JSON.parse(readFileSync(join(root, "scripts/clients/js/package.json"), "utf8"))
const rows = []

/** The function that runs the cases of one client, which is the package `name`. `api`: chat completions by default. */
export const makeCheck = (client, name, api) => {
  const features = {}
  rows.push({ client, ...(api === undefined ? {} : { api }), packages: { [name]: dependencies[name] }, features })
  return async (feature, title, run) => {
    features[feature] ??= { passed: 0, failed: 0 }
    const outcome = await run().then(
      () => "passed",
      (error) => {
        console.log(`FAILED ${client}, ${feature}: ${title}\n${error?.stack ?? error}`)
        return "failed"
      }
    )
    features[feature][outcome]++
  }
}

/** Writes the results beside the sources, for docs/reference/clients.md. */
export const finish = async () => {
  await gateway.stop()
  writeFileSync(join(root, "scripts/clients/js/results.json"), `${JSON.stringify(rows, null, 2)}\n`)
  const sum = (outcome) =>
    rows.flatMap(({ features }) => Object.values(features)).reduce((all, one) => all + one[outcome], 0)
  console.log(`${sum("passed")} passed, ${sum("failed")} failed`)
  process.exit(sum("failed") === 0 ? 0 : 1)
}
