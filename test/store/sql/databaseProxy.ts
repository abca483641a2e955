/** A TCP relay in front of a database that a test can disconnect, freeze and restore. */
import { Effect } from "effect"
import { once } from "node:events"
import { type AddressInfo, connect, createServer, type Socket } from "node:net"

export interface DatabaseProxy {
  readonly url: URL
  /** Breaks every connection and refuses new ones. */
  readonly down: Effect.Effect<void>
  readonly up: Effect.Effect<void>
  /**
   * Keeps connections open and forwards nothing. Resolves once a client has sent something after
   * that.
   */
  readonly freeze: () => Promise<void>
  readonly thaw: Effect.Effect<void>
}

const start = async (target: URL) => {
  const pairs = new Set<readonly [client: Socket, server: Socket]>()
  let onFrozenData: (() => void) | null = null

  const relay = (client: Socket): void => {
    const server = connect(Number(target.port), target.hostname)
    const pair = [client, server] as const
    pairs.add(pair)
    for (const [from, to] of [pair, [server, client] as const]) {
      from.on("data", (chunk) => {
        if (onFrozenData === null) return void to.write(chunk)
        from.pause()
        from.unshift(chunk)
        if (from === client) onFrozenData()
      })
      from.on("error", () => to.destroy())
      from.on("close", () => {
        to.destroy()
        pairs.delete(pair)
      })
    }
  }

  const listener = createServer(relay)
  const listen = async (port: number): Promise<void> => {
    listener.listen(port, "127.0.0.1")
    await once(listener, "listening")
  }
  const down = async (): Promise<void> => {
    const closed = listener.listening ? once(listener, "close") : Promise.resolve()
    listener.close()
    for (const [client, server] of pairs) {
      client.destroy()
      server.destroy()
    }
    await closed
  }
  await listen(0)
  const { port } = listener.address() as AddressInfo
  const url = new URL(target)
  url.hostname = "127.0.0.1"
  url.port = String(port)

  const proxy: DatabaseProxy = {
    url,
    down: Effect.promise(down),
    up: Effect.promise(() => listen(port)),
    freeze: () => new Promise((resolve) => (onFrozenData = resolve)),
    thaw: Effect.sync(() => {
      onFrozenData = null
      for (const [client, server] of pairs) {
        client.resume()
        server.resume()
      }
    })
  }
  return { proxy, down }
}

export const proxyTo = (target: URL) =>
  Effect.acquireRelease(
    Effect.promise(() => start(target)),
    ({ down }) => Effect.promise(down)
  ).pipe(Effect.map(({ proxy }) => proxy))
