/**
 * The native lane of the Messages API over scripted providers: what a script says, a provider of
 * that API says in its own events and bodies.
 */
import { type ChatEvent, type ChatReply, type Members, type UsageInfo } from "../../src/domain/Chat.ts"
import { type TokenUsage } from "../../src/domain/Money.ts"
import { MessageWriter } from "../../src/http/messages/MessageWriter.ts"
import { messageOf } from "../../src/http/messages/Reply.ts"
import { type Script, type ScriptedProvider } from "../../src/testing/ScriptedProvider.ts"

const head = {
  completionId: "chatcmpl-vendor",
  generationId: "gen_vendor",
  createdAtMs: 0,
  model: "vendor",
  provider: "vendor",
  cacheHit: false
}
const form = { model: "claude-vendor", omitsThinking: false }

const usageOf = (usage: TokenUsage | null): UsageInfo => ({
  prompt_tokens: usage?.promptTokens ?? 0,
  completion_tokens: usage?.completionTokens ?? 0,
  total_tokens: (usage?.promptTokens ?? 0) + (usage?.completionTokens ?? 0),
  cached_tokens: usage?.cachedTokens ?? 0,
  cache_hit: false,
  prompt_tokens_details: { cached_tokens: usage?.cachedTokens ?? 0, cache_write_tokens: 0, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 }
})

const eventsIn = (text: string): ReadonlyArray<Members> =>
  text
    .split("\n\n")
    .filter((frame) => frame !== "")
    .map((frame) => JSON.parse(frame.slice(frame.indexOf("data: ") + 6)))

const isLast = ({ type }: Members): boolean => type === "message_delta" || type === "message_stop"

const withNativeEvents = (events: NonNullable<Script["events"]>): NonNullable<Script["events"]> => {
  const writer = new MessageWriter(head, "req_vendor", form)
  return events.flatMap((event): ReadonlyArray<(typeof events)[number]> => {
    if (typeof event === "number" || (event._tag !== "Choices" && event._tag !== "End")) return [event]
    if (event._tag === "Choices") return [{ ...event, native: eventsIn(writer.write(event)) }]
    const last = eventsIn(writer.write({ _tag: "Usage", usage: usageOf(event.usage) }) + writer.end())
    const closing: ChatEvent = { _tag: "Choices", choices: [], native: last.filter((each) => !isLast(each)) }
    return [closing, { ...event, native: last.filter(isLast) }]
  })
}

const withNativeBody = (reply: ChatReply): ChatReply => ({
  ...reply,
  native: messageOf({ _tag: "Reply", head, reply, usage: usageOf(reply.usage) }, form)
})

const nativeScript = (script: Script): Script => ({
  ...script,
  ...(script.reply === undefined ? {} : { reply: withNativeBody(script.reply) }),
  ...(script.events === undefined ? {} : { events: withNativeEvents(script.events) })
})

/** The provider, speaking the Messages API. */
export const nativeProvider = (provider: ScriptedProvider): ScriptedProvider => ({
  ...provider,
  config: { ...provider.config, dialect: "anthropic" },
  models: Object.fromEntries(
    Object.entries(provider.models).map(([id, script]) => [
      id,
      "map" in script ? script.map(nativeScript) : nativeScript(script)
    ])
  )
})
