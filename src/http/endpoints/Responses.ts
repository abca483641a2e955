/**
 * OpenAI's Responses API: a request becomes a chat completion and takes its way through the
 * gateway; the answer is written in the vendor's form.
 */
import { Clock, Effect } from "effect"
import { type Headers } from "effect/http"
import { ResponsesGroup } from "../../api/Responses.ts"
import { gatewayError, InvalidRequest } from "../../domain/Errors.ts"
import { Ids } from "../../domain/Ids.ts"
import { Completion } from "../../gateway/chat/Completion.ts"
import { authenticatedPost } from "../edge/AuthenticatedPost.ts"
import { completionQuery } from "../edge/CompletionQuery.ts"
import { responseFailure } from "../errors/ErrorResponse.ts"
import { isToldInStream } from "../errors/ResponsesErrors.ts"
import { responseOf } from "../responses/Reply.ts"
import { type Asked, translated } from "../responses/Request.ts"
import { ResponseEvents, ResponseWriter } from "../responses/ResponseWriter.ts"
import { type AnsweringOptions, makeAnswering } from "../sse/Answering.ts"

export const layer = (options: AnsweringOptions) =>
  authenticatedPost(
    ResponsesGroup.endpoints.create,
    Effect.gen(function* () {
      const completion = yield* Completion
      const ids = yield* Ids
      const clock = yield* Clock.Clock
      const answer = yield* makeAnswering(options)
      const newName = () => {
        const createdAtMs = clock.currentTimeMillisUnsafe()
        return { id: ids.next("resp", createdAtMs), createdAtMs }
      }

      return ({ caller, credential, headers, payload, request, state }) =>
        Effect.flatMap(Effect.mapError(Effect.fromResult(translated(payload)), gatewayError), (asked) => {
          const refusal = refusalOf(asked)
          if (refusal !== null) return Effect.fail(gatewayError(refusal))
          const form = { payload, tools: asked.tools }
          const events = new ResponseEvents(form, newName)
          const waits = isCodex(request.headers)
          return answer({
            run: completion.run({
              ...completionQuery({ caller, credential, headers, state }),
              request: asked.request,
              dropped: asked.dropped,
              // Encrypted reasoning must come back as the model wrote it.
              keepsReasoning: true,
              // An agent that asks again after a bad answer must not get the same one.
              cacheControl: "no-store"
            }),
            state,
            request,
            isStreamed: payload.stream === true,
            form: {
              whole: (completed) => responseOf(completed, form),
              writer: (head) => new ResponseWriter(head, events),
              keepAlive: events.keepAlive,
              failed: (reason) => Effect.sync(() => events.failed(responseFailure(reason))),
              isToldInStream: (reason) => isToldInStream(reason, waits)
            }
          })
        })
    })
  )

/**
 * No provider gets the request in its own form, so what chat completions cannot express is refused.
 */
const refusalOf = ({ accountObjects, only }: Asked): InvalidRequest | null => {
  const code = "unsupported_parameter"
  if (only !== null) return new InvalidRequest({ ...only, code, provider: null })
  if (accountObjects === null) return null
  const message = `${accountObjects}: objects that are stored at the provider are not available.`
  return new InvalidRequest({ message, param: accountObjects, code, provider: null })
}

/** Codex gives up after a 429, and waits for a rate limit that its stream tells. */
const isCodex = (headers: Headers.Headers): boolean =>
  /^codex/i.test(headers["originator"] ?? "") || /^codex/i.test(headers["user-agent"] ?? "")
