/**
 * Pictures and files in tool results, for servers that take only text there: the user shows them
 * after the results of the same turn.
 */
import { type ChatMessage } from "../../domain/Chat.ts"
import { type JsonRecord } from "../wire/Json.ts"

export const mediaAfterResults = (messages: ReadonlyArray<ChatMessage>): ReadonlyArray<ChatMessage> => {
  if (!messages.some(hasMedia)) return messages
  const sent: Array<ChatMessage> = []
  let media: ReadonlyArray<JsonRecord> = []
  const show = () => {
    if (media.length > 0) sent.push({ role: "user", content: media })
    media = []
  }
  for (const message of messages) {
    if (message.role !== "tool") show()
    const { content } = message
    if (!hasMedia(message) || !Array.isArray(content)) {
      sent.push(message)
      continue
    }
    const parts: ReadonlyArray<JsonRecord> = content
    const texts = parts.filter(isText)
    media = [...media, ...parts.filter((part) => !isText(part))]
    sent.push({ ...message, content: texts.length === 0 ? "" : texts })
  }
  show()
  return sent
}

const isText = ({ type }: JsonRecord): boolean => type === "text" || type === "refusal"

const hasMedia = ({ content, role }: ChatMessage): boolean =>
  role === "tool" && Array.isArray(content) && !content.every(isText)
