/**
 * Decodes whole replies of every dialect. A valid reply has a 2xx status and a JSON object without
 * an error; anything else becomes a provider reason.
 */
import { Clock, Effect } from "effect"
import { type ChatReply } from "../../domain/Chat.ts"
import { Malformed, type ProviderReason, Rejected } from "../Provider.ts"
import { errorInBody, reasonOfStatus } from "./ErrorMapping.ts"
import { type WholeReply } from "../transport/Transport.ts"
import { parseJsonRecord, type JsonRecord } from "./Json.ts"
import { rejectEmpty } from "./Words.ts"

/** How a vendor reports errors: by status, and by an error object inside a 200. */
export interface Refusals {
  readonly of: typeof reasonOfStatus
  readonly inside: typeof errorInBody
}

const commonRefusals: Refusals = { of: reasonOfStatus, inside: errorInBody }

/** Fails with the reason for a reply whose status is not 2xx. */
export const failForStatus = (
  { headers, status, text }: WholeReply,
  refusals = commonRefusals
): Effect.Effect<never, ProviderReason> =>
  Effect.flatMap(Clock.currentTimeMillis, (nowMs) => Effect.fail(refusals.of(status, headers, text, nowMs)))

/** Decodes the body of a 2xx reply: a JSON object without an error, which `read` accepts. */
export const decodeReply = <A>(
  reply: WholeReply,
  read: (body: JsonRecord) => A | Malformed | Rejected,
  refusals = commonRefusals
): Effect.Effect<A, ProviderReason> => {
  if (reply.status < 200 || reply.status > 299) return failForStatus(reply, refusals)
  const body = parseJsonRecord(reply.text)
  if (body instanceof Malformed) return Effect.fail(body)
  const refusal = refusals.inside(body)
  if (refusal !== null) return Effect.fail(refusal)
  const answer = read(body)
  return answer instanceof Malformed || answer instanceof Rejected ? Effect.fail(answer) : Effect.succeed(answer)
}

/** Like `decodeReply`, for a chat reply. Rejects an empty one. */
export const decodeChat = (
  reply: WholeReply,
  read: (body: JsonRecord) => ChatReply | Malformed | Rejected,
  refusals = commonRefusals
): Effect.Effect<ChatReply, ProviderReason> =>
  decodeReply(
    reply,
    (body) => {
      const answer = read(body)
      return answer instanceof Malformed || answer instanceof Rejected ? answer : rejectEmpty(answer)
    },
    refusals
  )
