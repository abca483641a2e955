/** Misses and hits: whole requests to the provider itself, the bare proxy and the gateway. */
import { type Bench, type Measure } from "./bench.ts"
import { type Closers } from "./closers.ts"
import { checkCache, path, startGateway } from "./gateway.ts"
import { measureRequests } from "./requests.ts"
import { startProgram } from "./servers.ts"

const startTargets = async ({ nginx, streaming }: Bench, closers: Closers) => {
  const bare = await startProgram(closers, "bare proxy", "bareProxy.ts", [nginx.url, streaming.url])
  const server = await startGateway(closers, nginx, streaming)
  await checkCache({ server, path })
  return { others: [nginx, bare].map((server) => ({ server, path })), server }
}

/** Every request has its own body, so the cache is looked up and misses. */
export const measureMisses: Measure = async (bench, closers) => {
  const { others, server } = await startTargets(bench, closers)
  return measureRequests(bench, [...others, { server, path }], { unique: true })
}

/** All requests have the same body. Misses of the same gateway are measured in alternation. */
export const measureHits: Measure = async (bench, closers) => {
  const { others, server } = await startTargets(bench, closers)
  const misses = { server: { ...server, name: "misses" }, path, unique: true }
  return measureRequests(bench, [...others, misses, { server, path }], { unique: false })
}
