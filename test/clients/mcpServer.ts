/** A server of the Model Context Protocol on its standard streams, with one tool. */
import { createInterface } from "node:readline"

interface Message {
  readonly id?: number | string
  readonly method: string
  readonly params?: { readonly protocolVersion?: string; readonly arguments?: { readonly text?: string } }
}

const tool = {
  name: "write_note",
  description: "Writes a note.",
  // Codex asks its user before it calls other tools.
  annotations: { readOnlyHint: true },
  inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] }
}

const resultOf = ({ method, params }: Message): unknown => {
  switch (method) {
    case "initialize":
      return {
        protocolVersion: params?.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: "notes", version: "1" }
      }
    case "tools/list":
      return { tools: [tool] }
    case "tools/call":
      return { content: [{ type: "text", text: `noted: ${params?.arguments?.text}` }] }
    default:
      return undefined
  }
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const message = JSON.parse(line) as Message
  if (message.id === undefined) return
  const result = resultOf(message)
  const answer = result === undefined ? { error: { code: -32_601, message: "unknown method" } } : { result }
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id: message.id, ...answer })}\n`)
})
