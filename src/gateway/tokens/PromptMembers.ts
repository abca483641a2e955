/**
 * Counts the parts of a prompt that are not plain text, in tokens. Everything sent to a provider
 * counts. Members unknown to the gateway count as the JSON they are sent as. Images, audio and
 * files count by the most that vendors charge, or by their length.
 */
import { Predicate } from "effect"
import { type CountText } from "./Tokens.ts"

/** OpenAI's tile formula: an image in low detail, and the most for any other image. */
const LOW_IMAGE_TOKENS = 85
const IMAGE_TOKENS = 1_445
/**
 * Characters of base64 per token: of audio in a dense format, of a file such as a PDF, of a text
 * file.
 */
const SOUND_CHARACTERS = 128
const FILE_CHARACTERS = 32
const TEXT_FILE_CHARACTERS = 4
/** In characters. Shorter texts count as text. */
const SHORTEST_DATA = 1_024

/** Members of a request that control the gateway or the sampling and are not part of the prompt. */
const notPrompt = new Set([
  "model",
  "messages",
  "tools",
  "models",
  "provider",
  "metadata",
  "user",
  "stream_options",
  "logit_bias",
  "reasoning_effort",
  "reasoning",
  "thinking",
  "modalities",
  "service_tier",
  "verbosity",
  "session_id",
  "safety_identifier",
  "prompt_cache_key"
])

/** Members of a message or a part that only label it, or are counted elsewhere. */
const countedElsewhere = new Set(["role", "type", "content", "text", "tool_calls", "tool_call_id", "cache_control"])

/** Clients send the reasoning of a reply back under both names. */
const reasoningCounted = new Set([...countedElsewhere, "reasoning_content"])

/**
 * Counts a request except its messages and tools: `functions`, `response_format`, `prediction`,
 * unknown members.
 */
export const countMembers = (request: object, count: CountText): number => countOthers(request, notPrompt, count)

/**
 * Counts a message except its content and its calls: a name, reasoning, a refusal, unknown members.
 */
export const countMessageMembers = (message: object, count: CountText): number =>
  countOthers(message, "reasoning" in message && message.reasoning ? reasoningCounted : countedElsewhere, count)

export const countPart = (part: unknown, count: CountText): number => {
  if (!Predicate.isObject(part)) return 0
  const { file, image_url: image, input_audio: sound, text } = part
  if (image !== undefined)
    return Predicate.isObject(image) && image["detail"] === "low" ? LOW_IMAGE_TOKENS : IMAGE_TOKENS
  if (Predicate.isObject(sound)) return soundTokens(sound)
  if (Predicate.isObject(file)) {
    const { file_data, ...rest } = file
    return (typeof file_data === "string" ? countData(file_data) : 0) + countValue(rest, count)
  }
  return (typeof text === "string" ? count(text) : 0) + countOthers(part, countedElsewhere, count)
}

/** The audio in a request's messages, as `countPart` counts it. */
export const countSound = ({ messages }: Readonly<Record<string, unknown>>): number => {
  let sum = 0
  for (const message of Array.isArray(messages) ? messages : []) {
    const content = Predicate.isObject(message) ? message["content"] : null
    if (!Array.isArray(content)) continue
    for (const part of content) {
      if (Predicate.isObject(part) && Predicate.isObject(part["input_audio"])) sum += soundTokens(part["input_audio"])
    }
  }
  return sum
}

const soundTokens = ({ data }: Readonly<Record<string, unknown>>): number =>
  Math.ceil(lengthOf(data) / SOUND_CHARACTERS)

const countOthers = (members: object, known: ReadonlySet<string>, count: CountText): number => {
  let sum = 0
  for (const name of Object.keys(members)) {
    if (known.has(name)) continue
    const value: unknown = Reflect.get(members, name)
    if (typeof value === "string" || Predicate.isObject(value) || Array.isArray(value)) sum += countValue(value, count)
  }
  return sum
}

const countValue = (value: unknown, count: CountText): number => {
  if (typeof value === "string") return isData(value) ? countData(value) : count(value)
  let data = 0
  const text = JSON.stringify(value, (_name, member: unknown) => {
    if (typeof member !== "string" || !isData(member)) return member
    data += countData(member)
    return ""
  })
  return data + count(text)
}

/** A `data:` URL, or plain base64. */
const isData = (text: string): boolean =>
  text.length >= SHORTEST_DATA && (text.startsWith("data:") || /^[\w+/=-]+$/.test(text.slice(0, SHORTEST_DATA)))

const countData = (data: string): number =>
  Math.ceil(
    data.length / (/^data:(?:text\/|application\/(?:json|xml))/.test(data) ? TEXT_FILE_CHARACTERS : FILE_CHARACTERS)
  )

const lengthOf = (value: unknown): number => (typeof value === "string" ? value.length : 0)
