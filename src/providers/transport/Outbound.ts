/**
 * Plain outbound HTTP for services other than model providers: the SMS service and identity
 * providers. One request, one whole reply.
 *
 * It follows no redirects, so a response cannot send credentials or the gateway elsewhere. It does
 * not retry, bounds the reply in memory, and closes the socket when its caller is interrupted.
 * Failures carry no addresses and no content.
 */
import { Context, Effect, Layer } from "effect"
import { type Agent } from "undici"
import { HttpExchange, type HttpExchangeFailure } from "./HttpExchange.ts"
import { type CallHeaders, type WholeReply } from "./Transport.ts"
import { undici } from "./Undici.ts"

const LIMIT_BYTES = 1024 * 1024
const CONNECT_TIMEOUT_MS = 5_000

export interface OutboundCall {
  readonly method: "GET" | "POST"
  /** http or https. */
  readonly url: URL
  readonly headers: CallHeaders
  readonly body: string | null
  /** Time limit to the first byte and between packets, in ms. */
  readonly timeoutMs: number
}

export class Outbound extends Context.Service<
  Outbound,
  {
    /** The reply, whatever its status. */
    readonly call: (call: OutboundCall) => Effect.Effect<WholeReply, HttpExchangeFailure>
  }
>()("tollgate/providers/transport/Outbound") {
  static readonly layer = Layer.effect(
    Outbound,
    Effect.gen(function* () {
      let agent: Agent | null = null
      yield* Effect.addFinalizer(() => Effect.promise(() => agent?.destroy() ?? Promise.resolve()))
      const connections = (): Agent =>
        (agent ??= new (undici().Agent)({ connections: 16, connectTimeout: CONNECT_TIMEOUT_MS, allowH2: false }))
      return Outbound.of({
        call: ({ body, headers, method, timeoutMs, url }) =>
          Effect.callback<WholeReply, HttpExchangeFailure>((resume) => {
            const exchange = new HttpExchange()
            exchange.collect(LIMIT_BYTES, timeoutMs, "first_token", timeoutMs, () =>
              resume(
                exchange.failure !== null
                  ? Effect.fail(exchange.failure)
                  : Effect.succeed({
                      status: exchange.status,
                      headers: exchange.headers,
                      text: Buffer.concat(exchange.take()).toString("utf8")
                    })
              )
            )
            const request = { origin: url.origin, path: url.pathname + url.search, method }
            connections().dispatch(
              { ...request, headers: { "user-agent": "tollgate", "accept-encoding": "gzip, br", ...headers }, body },
              exchange
            )
            return Effect.sync(() => exchange.abort())
          })
      })
    })
  )
}
