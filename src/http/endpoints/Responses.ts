/**
 * OpenAI's Responses API: a request becomes a chat completion, with its own form beside it, and
 * takes its way through the gateway; the answer is written in the vendor's form. A request that
 * continues a stored response gets that conversation in front of its input.
 */
import { Clock, Effect, Exit, Redacted } from "effect"
import { type Headers, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { CurrentKey } from "../../api/Authorization.ts"
import { type ModelResponse, ResponsesGroup } from "../../api/Responses.ts"
import { gatewayError, InvalidRequest } from "../../domain/Errors.ts"
import { Ids } from "../../domain/Ids.ts"
import { type ChatQuery } from "../../gateway/chat/ChatQuery.ts"
import { Completion } from "../../gateway/chat/Completion.ts"
import { Load, type LoadLimits } from "../../gateway/process/Load.ts"
import { type HasRoom, type Keeper, StoredResponses } from "../../gateway/responses/StoredResponses.ts"
import { authenticatedPost } from "../edge/AuthenticatedPost.ts"
import { credentialOf } from "../auth/Authorization.ts"
import { CurrentRequest } from "../edge/CurrentRequest.ts"
import { completionQuery } from "../edge/CompletionQuery.ts"
import { guard, responseFailure } from "../errors/ErrorResponse.ts"
import { isToldInStream } from "../errors/ResponsesErrors.ts"
import { isContinued, makeConversation, withOwnPlaces } from "../responses/Conversation.ts"
import { nativeRequest } from "../responses/Native.ts"
import { responseOf, storedResponse, unstored } from "../responses/Reply.ts"
import { itemsOf, translated } from "../responses/Request.ts"
import { ResponseEvents, ResponseWriter } from "../responses/ResponseWriter.ts"
import { itemsPage, shownItems } from "../responses/Stored.ts"
import { ToolNames } from "../responses/ToolNames.ts"
import { type AnsweringOptions, makeAnswering } from "../sse/Answering.ts"

export const layer = (options: AnsweringOptions & LoadLimits) =>
  authenticatedPost(
    ResponsesGroup.endpoints.create,
    Effect.gen(function* () {
      const completion = yield* Completion
      const responses = yield* StoredResponses
      const conversation = makeConversation(responses)
      const load = yield* Load
      const ids = yield* Ids
      const clock = yield* Clock.Clock
      const answer = yield* makeAnswering(options)
      const newName = () => {
        const createdAtMs = clock.currentTimeMillisUnsafe()
        return { id: ids.next("resp", createdAtMs), createdAtMs }
      }

      return ({ caller, credential, headers, json, payload, request, state }) => {
        const keeper = { keyId: caller.key.id, secret: Redacted.make(credential) }
        const query = completionQuery({ caller, credential, headers, state })
        const isLarge = isContinued(payload)
        const hasRoom: HasRoom = (characters) => load.hold(state.share, characters, options)
        const own = itemsOf(payload.input)
        let input = own
        const form = {
          payload,
          tools: new ToolNames(),
          keep: responses.keeps(payload.store)
            ? (response: ModelResponse) =>
                state.recorder.metadata.replayed
                  ? Effect.map(Effect.exit(responses.get(keeper, response.id, hasRoom)), Exit.isSuccess)
                  : responses.keep(keeper, { response, input })
            : null
        }
        const events = new ResponseEvents(form, newName)
        const waits = isCodex(request.headers)

        /** The request with what it takes from stored responses. */
        const whole = isLarge
          ? Effect.map(conversation(keeper, payload, hasRoom), (items) => {
              input = items
              return { ...payload, input, previous_response_id: null }
            })
          : Effect.succeed(payload)
        const read = Effect.flatMap(whole, (body) =>
          Effect.flatMap(Effect.mapError(Effect.fromResult(translated(body)), gatewayError), (asked) => {
            form.tools = asked.tools
            return Effect.succeed({
              ...query,
              request: asked.request,
              dropped: asked.dropped,
              native: nativeRequest(body, request.headers, asked),
              // Encrypted reasoning must come back as the model wrote it.
              keepsReasoning: true,
              // An agent that asks again after a bad answer must not get the same one.
              cacheControl: "no-store"
            } satisfies ChatQuery)
          })
        ).pipe(Effect.mapError((error) => withOwnPlaces(input.length - own.length)(error)))
        const answered = answer({
          // A conversation may be far larger than the request that names it.
          run: isLarge ? completion.runUnread(query, read) : Effect.flatMap(read, completion.run),
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
        return Effect.flatMap(answered, (told) =>
          HttpServerResponse.isHttpServerResponse(told)
            ? Effect.succeed(told)
            : Effect.mapEager(storedResponse(told, form) ?? Effect.succeed(unstored(told)), json)
        )
      }
    })
  )

/** Codex gives up after a 429, and waits for a rate limit that its stream tells. */
const isCodex = (headers: Headers.Headers): boolean =>
  /^codex/i.test(headers["originator"] ?? "") || /^codex/i.test(headers["user-agent"] ?? "")

/** The key of the request, with the secret that was sent. */
const keeper: Effect.Effect<Keeper, never, CurrentKey | HttpServerRequest.HttpServerRequest> = Effect.gen(function* () {
  const { key } = yield* CurrentKey
  const { headers } = yield* HttpServerRequest.HttpServerRequest
  return { keyId: key.id, secret: Redacted.make(credentialOf(headers)) }
})

/** The responses that were stored. */
export const layerStored = (options: LoadLimits) =>
  HttpApiBuilder.group(
    Api,
    "storedResponses",
    Effect.fnUntraced(function* (handlers) {
      const responses = yield* StoredResponses
      const load = yield* Load
      const kept = Effect.fnUntraced(function* (id: string) {
        const { share } = yield* CurrentRequest
        return yield* responses.get(yield* keeper, id, (characters) => load.hold(share, characters, options))
      })
      return handlers.handleAll({
        retrieve: ({ params, query }) =>
          guard(
            isAsked(query.stream)
              ? Effect.fail(notStreamed)
              : // As it was stored, whichever version did it.
                Effect.map(kept(params.response_id), ({ response }) => HttpServerResponse.jsonUnsafe(response))
          ),
        remove: ({ params: { response_id: id } }) =>
          guard(
            Effect.flatMap(CurrentKey, ({ key }) =>
              Effect.as(responses.remove(key.id, id), { id, object: "response" as const, deleted: true as const })
            )
          ),
        inputItems: ({ params: { response_id: id }, query }) =>
          guard(
            Effect.flatMap(kept(id), ({ input }) => {
              const page = itemsPage(shownItems(input, id), query)
              return page === null ? Effect.fail(noItem) : Effect.succeed(HttpServerResponse.jsonUnsafe(page))
            })
          )
      })
    })
  )

const isAsked = (stream: string | undefined): boolean => stream !== undefined && /^(?:true|1)$/i.test(stream)

const refused = (param: string, code: string, message: string) =>
  gatewayError(new InvalidRequest({ param, code, message, provider: null }))

const notStreamed = refused(
  "stream",
  "unsupported_parameter",
  "stream: a stored response is not streamed again. Leave 'stream' out to read it whole."
)
const noItem = refused("after", "invalid_request", "after: the response has no input item with this id.")
