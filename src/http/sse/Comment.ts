/**
 * Writes a comment into a streamed response while the server waits for the stream's next element.
 * Only comments bypass the stream: a stream that emits them itself must read the provider ahead in
 * a fiber of its own, which costs 20 % more processor time per token (90 instead of 75
 * microseconds; docs/internals/performance.md). The comment goes through Node's response, which
 * frames it like the chunks of the stream.
 */
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { type HttpServerRequest } from "effect/http"
import { type Writable } from "node:stream"

export const commentInto =
  (request: HttpServerRequest.HttpServerRequest) =>
  (text: () => string): void => {
    const response: Writable = NodeHttpServerRequest.toServerResponse(request)
    if (response.writable && !response.writableNeedDrain) response.write(text())
  }
