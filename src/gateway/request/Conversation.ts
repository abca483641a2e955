/**
 * The name of a conversation: a digest of the model, the client's key, and the id that the client
 * gave (`prompt_cache_key`, `session_id`, a header), else of the first messages. Long
 * messages count with their beginning and their length, so the work is bounded.
 */
import { hash } from "node:crypto"
import { type ChatRequest } from "../../domain/Chat.ts"

/** The request as the client sent it, before anything is masked. */
export interface Conversation {
  readonly request: ChatRequest
  /** The name in a header; null: not sent. */
  readonly sessionId: string | null
}

/** The most leading messages, up to the first one of a user. */
const MOST_MESSAGES = 8
const MOST_PARTS = 8
/** The most characters of an id, of a message's text or of one of its parts. */
const MOST_CHARACTERS = 2_048

const idOf = ({ request, sessionId }: Conversation): string | null => {
  const given = [request["prompt_cache_key"], request["session_id"], sessionId]
  const id = given.find((one): one is string => typeof one === "string" && one !== "")
  return id ?? null
}

/**
 * 0 to 1, the same in every turn of a conversation whose client names it; null without a name,
 * because equal first messages are not one conversation. `about`: what is drawn.
 */
export const conversationRoll = (
  conversation: Conversation | null,
  clientKeyId: string,
  about: string
): number | null =>
  conversation === null || idOf(conversation) === null
    ? null
    : Buffer.from(conversationName(conversation, clientKeyId, about), "base64url").readUInt32BE() / 2 ** 32

/** The client's id of a session, or null. */
export const sessionIdOf = ({ request, sessionId }: Conversation): string | null => {
  const given = [request["session_id"], sessionId, request["prompt_cache_key"]]
  return given.find((one): one is string => typeof one === "string" && one !== "") ?? null
}

const leadingCount = ({ messages }: ChatRequest): number => {
  const first = messages.slice(0, MOST_MESSAGES).findIndex(({ role }) => role === "user")
  return first === -1 ? Math.min(messages.length, MOST_MESSAGES) : first + 1
}

/**
 * False for a request that begins a conversation: without an id, and nothing after the first
 * messages.
 */
export const isContinued = (conversation: Conversation): boolean =>
  idOf(conversation) !== null || conversation.request.messages.length > leadingCount(conversation.request)

export const conversationName = (conversation: Conversation, clientKeyId: string, model: string): string => {
  const id = idOf(conversation)
  const { request } = conversation
  const pieces =
    id === null
      ? request.messages.slice(0, leadingCount(request)).flatMap(({ content, role }) => [role, ...textsOf(content)])
      : ["id", ...shortened(id)]
  return hash("sha256", JSON.stringify([clientKeyId, model, ...pieces]), "base64url")
}

const textsOf = (content: ChatRequest["messages"][number]["content"]): ReadonlyArray<string | number> => {
  if (typeof content === "string") return shortened(content)
  const parts = content ?? []
  return [
    parts.length,
    ...parts
      .slice(0, MOST_PARTS)
      .flatMap(({ text, type }) => (typeof text === "string" ? shortened(text) : shortened(String(type))))
  ]
}

const shortened = (text: string): ReadonlyArray<string | number> => [text.length, text.slice(0, MOST_CHARACTERS)]
