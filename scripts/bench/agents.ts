/**
 * A coding agent's requests, each seen for the first time, of 60 to 200 kB with twenty tools: whole
 * answers on one connection, which show what the prompt costs, and long streams with pauses. To the
 * bare proxy and to the gateway's three APIs, in turns.
 */
import { type Surface } from "./agentBodies.ts"
import { type AgentLoad, type AgentOptions, type AgentTarget, driveAgents } from "./agentLoad.ts"
import { type Measure } from "./bench.ts"
import { path, startGateway } from "./gateway.ts"
import { garbageColumns } from "./garbage.ts"
import { quantile } from "./quantile.ts"
import { type Row } from "./report.ts"
import { turnsOf } from "./requests.ts"
import { startProgram } from "./servers.ts"

const sizes = [60_000, 100_000, 200_000] as const
const STREAM_CHARACTERS = 100_000
const STREAMS = 16
const WARM_SECONDS = 5
/** Tokens of a stream, and the pause after each fifty, as of a model that thinks. */
const streamArguments = ["150", "400"]

const surfaces: ReadonlyArray<readonly [Surface, string, string]> = [
  ["chat", path, "[DONE]"],
  ["messages", "/v1/messages", "message_stop"],
  ["responses", "/v1/responses", "response.completed"]
]

const sum = (loads: ReadonlyArray<AgentLoad>, figure: "requests" | "failed" | "seconds" | "cpuMicros"): number =>
  loads.reduce((all, load) => all + load[figure], 0)

const rowOf = (loads: ReadonlyArray<AgentLoad>): Row => {
  const requests = sum(loads, "requests")
  const seconds = sum(loads, "seconds")
  const firsts = loads.flatMap(({ firstByteMs }) => firstByteMs).sort((a, b) => a - b)
  return {
    "req/s": requests / seconds,
    "first byte p50 ms": quantile(firsts, 0.5),
    "first byte p99 ms": quantile(firsts, 0.99),
    "CPU us/req": sum(loads, "cpuMicros") / Math.max(1, requests),
    ...garbageColumns(
      loads.map(({ garbage }) => garbage),
      requests,
      seconds
    ),
    "RSS MiB": loads.at(-1)?.residentMib ?? Number.NaN,
    errors: sum(loads, "failed")
  }
}

export const measureAgents: Measure = async ({ nginx, options }, closers) => {
  const streaming = await startProgram(closers, "upstream", "streamUpstream.ts", streamArguments)
  const bare = await startProgram(closers, "bare proxy", "bareProxy.ts", [nginx.url, streaming.url])
  const gateway = await startGateway(closers, nginx, streaming)
  const measured: Array<{
    name: string
    target: AgentTarget
    load: Omit<AgentOptions, "seconds">
    loads: AgentLoad[]
  }> = []
  const add = (name: string, target: AgentTarget, load: Omit<AgentOptions, "seconds">) =>
    measured.push({ name, target, load, loads: [] })
  for (const characters of sizes) {
    const load = { characters, connections: 1, stream: false, model: "bench/model" }
    const size = `${characters / 1_000} kB`
    add(`bare proxy, ${size}`, { server: bare, path, end: "" }, { ...load, surface: "chat" })
    for (const [surface, path, end] of surfaces)
      add(`${surface}, ${size}`, { server: gateway, path, end }, { ...load, surface })
  }
  const load = { characters: STREAM_CHARACTERS, connections: STREAMS, stream: true, model: "stream/model" }
  add("bare proxy, streams", { server: bare, path: "/stream", end: "[DONE]" }, { ...load, surface: "chat" })
  for (const [surface, path, end] of surfaces)
    add(`${surface}, streams`, { server: gateway, path, end }, { ...load, surface })

  for (const { load, name, target } of measured) {
    console.error(`  warming ${name} ...`)
    await driveAgents(target, { ...load, seconds: WARM_SECONDS })
  }
  for (const seconds of turnsOf(options.seconds)) {
    for (const { load, loads, target } of measured) loads.push(await driveAgents(target, { ...load, seconds }))
  }
  return new Map(measured.map(({ loads, name }): [string, Row] => [name, rowOf(loads)]))
}
