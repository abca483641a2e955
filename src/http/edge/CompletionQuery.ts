/** The members of a completion's query that do not depend on the API that it came by. */
import { type CompletionHeaders } from "../../api/schemas/CompletionHeaders.ts"
import { type ChatQuery } from "../../gateway/chat/ChatQuery.ts"
import { type AuthenticatedRequest } from "./AuthenticatedPost.ts"
import { clientDeadlineOf } from "./ClientDeadline.ts"
import { type RequestOrigin } from "../../gateway/request/RequestOrigin.ts"
import { generationStatuses } from "../errors/GenerationStatuses.ts"
import { type RequestState } from "./CurrentRequest.ts"
import { idempotencyKeyOf } from "./IdempotencyKey.ts"
import { sessionIdOf } from "./SessionId.ts"

export const completionQuery = ({
  caller,
  credential,
  headers,
  state
}: Pick<AuthenticatedRequest<unknown, CompletionHeaders, never>, "caller" | "credential" | "headers" | "state">) =>
  ({
    caller,
    idempotencyKey: idempotencyKeyOf(headers, credential),
    origin: originOf(state),
    trace: state.trace,
    note: state.recorder.note,
    deadline: clientDeadlineOf(headers),
    sessionId: sessionIdOf(headers)
  }) satisfies Omit<ChatQuery, "request" | "cacheControl">

export const originOf = ({ endpoint, requestId, surface }: RequestState): RequestOrigin => ({
  requestId,
  endpoint,
  statuses: generationStatuses(surface)
})
