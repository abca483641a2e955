/**
 * Anthropic's Messages API: a request becomes a chat completion and takes its way through the
 * gateway; the answer is written in the vendor's form.
 */
import { Effect, Layer } from "effect"
import { MessagesGroup } from "../../api/Messages.ts"
import { gatewayError } from "../../domain/Errors.ts"
import { Completion } from "../../gateway/chat/Completion.ts"
import { TokenCount } from "../../gateway/chat/TokenCount.ts"
import { authenticatedPost } from "../edge/AuthenticatedPost.ts"
import { completionQuery } from "../edge/CompletionQuery.ts"
import { messagesFailureBody } from "../errors/ErrorResponse.ts"
import { eventText, MessageWriter, PING } from "../messages/MessageWriter.ts"
import { nativeRequest } from "../messages/Native.ts"
import { messageOf } from "../messages/Reply.ts"
import { prompted, translated } from "../messages/Request.ts"
import { type AnsweringOptions, makeAnswering } from "../sse/Answering.ts"

const create = (options: AnsweringOptions) =>
  authenticatedPost(
    MessagesGroup.endpoints.create,
    Effect.gen(function* () {
      const completion = yield* Completion
      const answer = yield* makeAnswering(options)

      return ({ caller, credential, headers, json, payload, request, state }) => {
        const form = { model: payload.model, omitsThinking: payload.thinking?.["display"] === "omitted" }
        return Effect.flatMap(Effect.mapError(Effect.fromResult(translated(payload)), gatewayError), (asked) =>
          answer({
            run: completion.run({
              ...completionQuery({ caller, credential, headers, state }),
              request: asked.request,
              dropped: asked.dropped,
              native: nativeRequest(payload, request.headers, asked.only),
              // Signed thoughts must come back as the model wrote them.
              keepsReasoning: true,
              // An agent that asks again after a bad answer must not get the same one.
              cacheControl: "no-store"
            }),
            state,
            request,
            isStreamed: payload.stream === true,
            form: {
              whole: (completed) => json(messageOf(completed, form)),
              writer: (head) => new MessageWriter(head, state.requestId, form),
              keepAlive: () => PING,
              failed: (reason) => Effect.succeed(eventText(messagesFailureBody(reason, state.requestId)))
            }
          })
        )
      }
    })
  )

const countTokens = authenticatedPost(
  MessagesGroup.endpoints.countTokens,
  Effect.gen(function* () {
    const tokenCount = yield* TokenCount
    return ({ caller, json, payload, request, state }) =>
      Effect.mapError(Effect.fromResult(prompted(payload)), gatewayError).pipe(
        Effect.flatMap((asked) =>
          tokenCount.of({
            caller,
            note: state.recorder.note,
            request: asked.request,
            native: nativeRequest(payload, request.headers, asked.only)
          })
        ),
        Effect.map((input_tokens) => json({ input_tokens }))
      )
  })
)

export const layer = (options: AnsweringOptions) => Layer.merge(create(options), countTokens)
