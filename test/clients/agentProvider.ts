/**
 * Providers that answer as a coding agent's model does: they call the first of a task's tools that
 * the request offers, until a result ends the task. The third-party mock plays the script for most
 * dialects. For OpenAI's Responses API, whose custom tools the mock cannot call, there is a server
 * here; it takes tools in the client's form and as plain functions.
 */
import { type FixtureFileEntry } from "@copilotkit/aimock"
import { Effect } from "effect"
import { createServer } from "node:http"
import { type AddressInfo } from "node:net"
import {
  callItem,
  customCallItem,
  messageItem,
  reasoningItem,
  responseChunks
} from "../support/upstream/ResponseBodies.ts"

type Members = Readonly<Record<string, unknown>>

export interface Task {
  /** A part of the user's message. */
  readonly prompt: string
  /** By the name under which providers see the tool. A text is the input of a custom tool. */
  readonly calls: Readonly<Record<string, string | Members>>
  /** Parts of results that end the task. */
  readonly ends: ReadonlyArray<string>
}

/** The answer once the task is over. */
export const DONE = "All done."
const thought = "Let me see."
/** What the provider of the Responses API wants back with its call. */
export const ENCRYPTED = "gAAAAA-sealed+by/the=provider"

/** The arguments of a call, as a function has them. */
const argumentsOf = (input: string | Members): string => JSON.stringify(typeof input === "string" ? { input } : input)

export const taskFixtures = (tasks: ReadonlyArray<Task>): ReadonlyArray<FixtureFileEntry> =>
  tasks.flatMap(({ calls, ends, prompt }) => [
    ...ends.map((end) => ({
      match: { userMessage: prompt, toolResultContains: end },
      response: { content: DONE }
    })),
    ...Object.entries(calls).map(([name, input]) => ({
      match: { userMessage: prompt, toolName: name },
      response: { reasoning: thought, toolCalls: [{ id: `call_${name}`, name, arguments: argumentsOf(input) }] }
    }))
  ])

/** The input of a custom tool. */
const rawOf = (input: string | Members): string => (typeof input === "string" ? input : JSON.stringify(input))

const listIn = (value: unknown): ReadonlyArray<Members> => (Array.isArray(value) ? value : [])

interface Offered {
  /** As other providers see it. */
  readonly name: string
  readonly item: (input: string | Members) => Members
}

const offeredIn = (tools: ReadonlyArray<Members>, namespace?: string): ReadonlyArray<Offered> =>
  tools.flatMap((tool): ReadonlyArray<Offered> => {
    const own = String(tool["name"])
    const name = namespace === undefined || namespace === "functions" ? own : `${namespace}__${own}`
    const place = namespace === undefined ? {} : { namespace }
    const id = `call_${name}`
    switch (tool["type"]) {
      case "namespace":
        return offeredIn(listIn(tool["tools"]), own)
      case "function":
        return [{ name, item: (input) => ({ ...callItem(id, own, argumentsOf(input)), ...place }) }]
      case "custom":
        return [{ name, item: (input) => ({ ...customCallItem(id, own, rawOf(input)), ...place }) }]
      case "tool_search": {
        const call = { id: "tsc_1", type: "tool_search_call", call_id: id, execution: "client", status: "completed" }
        return [{ name: "tool_search", item: (input) => ({ ...call, arguments: input }) }]
      }
      default:
        return []
    }
  })

const answerTo = (tasks: ReadonlyArray<Task>, { input, tools }: Members): ReadonlyArray<Members> => {
  const items = listIn(input)
  const text = JSON.stringify(items.findLast(({ role }) => role === "user"))
  const last = JSON.stringify(items.at(-1))
  const task = tasks.find(({ prompt }) => text.includes(prompt))
  const offered = [...listIn(tools), ...items.flatMap((item) => listIn(item["tools"]))]
  const calls = task === undefined || task.ends.some((end) => last.includes(end)) ? {} : task.calls
  for (const [name, given] of Object.entries(calls)) {
    const tool = offeredIn(offered).find((each) => each.name === name)
    if (tool !== undefined) return [reasoningItem([thought], ENCRYPTED), tool.item(given)]
  }
  return [messageItem(DONE)]
}

export interface ResponsesProvider {
  /** A provider's base URL. */
  readonly url: string
  /** The bodies so far, oldest first. */
  readonly bodies: ReadonlyArray<Members>
}

/** Ends with the scope. */
export const startResponsesProvider = (tasks: ReadonlyArray<Task>) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(async () => {
        const bodies: Array<Members> = []
        const server = createServer((request, response) => {
          const pieces: Array<Buffer> = []
          request.on("data", (piece: Buffer) => pieces.push(piece))
          request.on("end", () => {
            const body = JSON.parse(Buffer.concat(pieces).toString()) as Members
            bodies.push(body)
            response.writeHead(200, { "content-type": "text/event-stream" })
            response.end(responseChunks(answerTo(tasks, body)).join(""))
          })
        })
        await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
        return { server, bodies }
      }),
      ({ server }) =>
        Effect.sync(() => {
          server.closeAllConnections()
          server.close()
        })
    ),
    ({ bodies, server }): ResponsesProvider => ({
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
      bodies
    })
  )
