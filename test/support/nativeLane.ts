/**
 * The native lanes of the Messages and Responses APIs over scripted providers: what a script says,
 * a provider of that API says in its own events and bodies.
 */
import { type ChatEvent, type ChatReply, type Members, type UsageInfo } from "../../src/domain/Chat.ts"
import { type TokenUsage } from "../../src/domain/pricing/Money.ts"
import { MessageWriter } from "../../src/http/messages/MessageWriter.ts"
import { messageOf } from "../../src/http/messages/Reply.ts"
import { responseOf, type ResponseForm } from "../../src/http/responses/Reply.ts"
import { ResponseEvents, ResponseWriter } from "../../src/http/responses/ResponseWriter.ts"
import { ToolNames } from "../../src/http/responses/ToolNames.ts"
import { type EventWriter } from "../../src/http/sse/Sse.ts"
import { type Script, type ScriptedProvider, scriptedOffer } from "../../src/testing/ScriptedProvider.ts"

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

/** How a vendor writes what a script says. */
interface Vendor {
  readonly writer: () => EventWriter
  readonly body: (reply: ChatReply) => Members
  /** Whether an event ends the stream. */
  readonly isLast: (event: Members) => boolean
  readonly isSkipped: (event: Members) => boolean
}

const completedOf = (reply: ChatReply) =>
  ({ _tag: "Reply", head, reply, usage: usageOf(reply.usage), endedAtMs: 0 }) as const

const messages: Vendor = {
  writer: () => new MessageWriter(head, "req_vendor", form),
  body: (reply) => messageOf(completedOf(reply), form),
  isLast: ({ type }) => type === "message_delta" || type === "message_stop",
  isSkipped: () => false
}

const responseForm = (): ResponseForm => ({
  payload: { model: "gpt-vendor", input: "", stream: true },
  tools: new ToolNames(),
  keep: null
})

const responses: Vendor = {
  writer: () =>
    new ResponseWriter(head, new ResponseEvents(responseForm(), () => ({ id: "resp_vendor", createdAtMs: 0 }))),
  body: (reply) => responseOf(completedOf(reply), responseForm()),
  isLast: ({ type }) => type === "response.completed" || type === "response.incomplete",
  // The gateway begins the response itself.
  isSkipped: ({ type }) => type === "response.created" || type === "response.in_progress"
}

const withNativeEvents = (
  { isLast, isSkipped, writer: make }: Vendor,
  events: NonNullable<Script["events"]>
): NonNullable<Script["events"]> => {
  const writer = make()
  const written = (text: string) => eventsIn(text).filter((event) => !isSkipped(event))
  return events.flatMap((event): ReadonlyArray<(typeof events)[number]> => {
    if (typeof event === "number" || (event._tag !== "Choices" && event._tag !== "End")) return [event]
    if (event._tag === "Choices") return [{ ...event, native: written(writer.write(event)) }]
    const ended = writer.write({ _tag: "Usage", usage: usageOf(event.usage), endedAtMs: 0 }) + writer.end()
    const last = written(ended)
    const closing: ChatEvent = { _tag: "Choices", choices: [], native: last.filter((each) => !isLast(each)) }
    return [closing, { ...event, native: last.filter(isLast) }]
  })
}

const nativeScript =
  (vendor: Vendor) =>
  (script: Script): Script => ({
    ...script,
    ...(script.reply === undefined ? {} : { reply: { ...script.reply, native: vendor.body(script.reply) } }),
    ...(script.events === undefined ? {} : { events: withNativeEvents(vendor, script.events) })
  })

const scriptsOf = (vendor: Vendor, models: ScriptedProvider["models"]): ScriptedProvider["models"] =>
  Object.fromEntries(
    Object.entries(models).map(([id, script]) => [
      id,
      "map" in script ? script.map(nativeScript(vendor)) : nativeScript(vendor)(script)
    ])
  )

/** The provider, speaking the Messages API. */
export const speakingMessages = (provider: ScriptedProvider): ScriptedProvider => ({
  ...provider,
  config: { ...provider.config, dialect: "anthropic" },
  models: scriptsOf(messages, provider.models)
})

/** The provider, speaking the Responses API. */
export const speakingResponses = ({ config, models, ...provider }: ScriptedProvider): ScriptedProvider => ({
  ...provider,
  config: {
    ...config,
    dialect: "openai",
    models: (config?.models ?? Object.keys(models).map(scriptedOffer)).map((offer) => ({ ...offer, api: "responses" }))
  },
  models: scriptsOf(responses, models)
})
