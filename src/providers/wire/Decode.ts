/**
 * Whole replies, whatever the dialect: a good status with a JSON object that holds no error and makes sense, or the reason
 * why there is none.
 */
import { Clock, Effect } from "effect"
import { type ChatReply } from "../../domain/Chat.ts"
import { Malformed, type ProviderReason, Rejected } from "../Provider.ts"
import { errorInBody, reasonOfStatus } from "./ErrorMapping.ts"
import { type WholeReply } from "../transport/Transport.ts"
import { parseJsonRecord, type JsonRecord } from "./Json.ts"
import { withWords } from "./Words.ts"

/** How a vendor says no: by a status, and by an error object inside a 200. */
export interface Refusals {
  readonly of: typeof reasonOfStatus
  readonly inside: typeof errorInBody
}

const commonRefusals: Refusals = { of: reasonOfStatus, inside: errorInBody }

/** Fails with what a reply means whose status is not 2xx. */
export const refused = (
  { headers, status, text }: WholeReply,
  refusals = commonRefusals
): Effect.Effect<never, ProviderReason> =>
  Effect.flatMap(Clock.currentTimeMillis, (nowMs) => Effect.fail(refusals.of(status, headers, text, nowMs)))

/** The body of a good reply: a JSON object without an error inside, that `read` can make sense of. */
export const decodeReply = <A>(
  reply: WholeReply,
  read: (body: JsonRecord) => A | Malformed | Rejected,
  refusals = commonRefusals
): Effect.Effect<A, ProviderReason> => {
  if (reply.status < 200 || reply.status > 299) return refused(reply, refusals)
  const body = parseJsonRecord(reply.text)
  if (body instanceof Malformed) return Effect.fail(body)
  const refusal = refusals.inside(body)
  if (refusal !== null) return Effect.fail(refusal)
  const answer = read(body)
  return answer instanceof Malformed || answer instanceof Rejected ? Effect.fail(answer) : Effect.succeed(answer)
}

/** The same for a completion, which says something. */
export const decodeChat = (
  reply: WholeReply,
  read: (body: JsonRecord) => ChatReply | Malformed | Rejected,
  refusals = commonRefusals
): Effect.Effect<ChatReply, ProviderReason> =>
  decodeReply(
    reply,
    (body) => {
      const answer = read(body)
      return answer instanceof Malformed || answer instanceof Rejected ? answer : withWords(answer)
    },
    refusals
  )
