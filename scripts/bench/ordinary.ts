/** Misses and hits: whole requests to the provider itself, the bare proxy and the gateway. */
import { type Measure } from "./bench.ts"
import { checkCache, path, startGateway } from "./gateway.ts"
import { measureRequests } from "./requests.ts"
import { startProgram } from "./servers.ts"

/** `unique`: every request has a body of its own, so the cache is asked and has nothing. */
export const measureOrdinary =
  (unique: boolean): Measure =>
  async ({ nginx, options, streaming }, closers) => {
    const bare = await startProgram(closers, "bare proxy", "bareProxy.ts", [nginx.url, streaming.url])
    const gateway = { server: await startGateway(closers, nginx, streaming), path }
    await checkCache(gateway)
    const targets = [{ server: nginx, path }, { server: bare, path }, gateway]
    return measureRequests(targets, { unique, seconds: options.seconds })
  }
