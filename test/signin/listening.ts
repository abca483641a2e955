/**
 * Starts a plain HTTP server on a free port of 127.0.0.1 and returns its address. Closing the scope
 * closes it with all connections.
 */
import { Effect } from "effect"
import { once } from "node:events"
import { type Server } from "node:http"
import { type AddressInfo } from "node:net"

export const listening = (server: Server) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      server.listen(0, "127.0.0.1")
      await once(server, "listening")
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    }),
    () =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  )
