/**
 * The gateway's outbound HTTP as a `fetch`, for libraries that make their own requests. It follows
 * no redirects.
 */
import { Data, Effect } from "effect"
import { Outbound } from "../providers/transport/Outbound.ts"

const TIMEOUT_MS = 10_000

/** The rejection if there is no usable answer. */
export class OutboundFailed extends Data.TaggedError("OutboundFailed")<{ readonly problem: string }> {}

interface Options {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly signal?: AbortSignal | undefined
}

export const makeFetch = Effect.gen(function* () {
  const outbound = yield* Outbound
  const run = Effect.runPromiseWith(yield* Effect.context())
  return (url: string, { body, headers, method, signal }: Options): Promise<Response> =>
    run(
      Effect.gen(function* () {
        const {
          headers: answered,
          status,
          text
        } = yield* outbound
          .call({
            method: method === "POST" ? "POST" : "GET",
            url: new URL(url),
            headers,
            body: body instanceof URLSearchParams ? body.toString() : typeof body === "string" ? body : null,
            timeoutMs: TIMEOUT_MS
          })
          .pipe(Effect.mapError(({ _tag }) => new OutboundFailed({ problem: _tag })))
        if (status >= 500) return yield* new OutboundFailed({ problem: `status ${status}` })
        // A repeated header is a list.
        const [type] = [answered["content-type"] ?? []].flat()
        return new Response(status === 204 ? null : text, {
          status,
          headers: type === undefined ? {} : { "content-type": type }
        })
      }),
      signal === undefined ? {} : { signal }
    )
})
