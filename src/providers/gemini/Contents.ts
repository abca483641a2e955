/**
 * Lowers messages to Gemini's turns. System messages, wherever they are, become the one system
 * instruction. Adjacent messages of one side form one turn. Adjacent tool results form a turn too,
 * sorted by the calls that they answer, because Gemini matches results of one function by their
 * order. Media in a result that the model cannot take there follow as the user's. Signatures that
 * this provider made go back to their parts. A tool result without a call, and arguments that are
 * not a JSON object, are `Unsupported`.
 */
import { Result } from "effect"
import { resultFn, type StepsOf } from "../../domain/runtime/ResultFn.ts"
import { addAll } from "../../domain/runtime/AddAll.ts"
import { type ChatMessage } from "../../domain/Chat.ts"
import { Unsupported } from "../Provider.ts"
import { inCommonRoles } from "../wire/CommonRoles.ts"
import { parseJson } from "../../domain/json/Json.ts"
import { isJsonRecord, stringOf, type JsonRecord, jsonRecordsOf } from "../wire/Json.ts"
import { type ThoughtMaker } from "../wire/Thoughts.ts"
import { demandsSignatures, takesResultImages } from "./Model.ts"
import { partsOf, textOf } from "./Parts.ts"
import { callSignature, imageParts, signedText, thoughtParts } from "./Signatures.ts"

/**
 * Google's placeholder for a call without a signature, because another model made the call or the
 * client dropped the signature.
 */
const UNSIGNED = "skip_thought_signature_validator"
/** Prefix of ids that this dialect generates, and of OpenAI's. Gemini knows neither. */
const FOREIGN_ID = "call_"

interface Turn {
  readonly side: "user" | "model" | "tool"
  readonly parts: Array<JsonRecord>
}

/** A call that a tool result may answer: its function and its position in the turn. */
interface Call {
  readonly name: string
  readonly at: number
}

interface Contents {
  readonly contents: ReadonlyArray<JsonRecord>
  readonly systemInstruction?: JsonRecord
}

export const contentsOf = resultFn(function* (
  messages: ReadonlyArray<ChatMessage>,
  upstream: string,
  maker: ThoughtMaker
): StepsOf<Result.Result<Contents, Unsupported>> {
  const system: Array<JsonRecord> = []
  const turns: Array<Turn> = []
  const calls = new Map<string, Call>()
  const places = new Map<JsonRecord, number>()
  /** Media of the last tool results. */
  let media: ReadonlyArray<JsonRecord> = []

  for (const message of inCommonRoles(messages)) {
    if (message.role !== "tool") {
      add(turns, "user", media)
      media = []
    }
    switch (message.role) {
      case "system": {
        const text = yield* textOf(message.content, "a system message")
        if (text !== "") system.push({ text })
        break
      }
      case "user": {
        const parts = yield* partsOf(message.content)
        add(turns, "user", parts.length === 0 ? [{ text: "" }] : parts)
        break
      }
      case "assistant": {
        const { content } = message
        add(turns, "model", thoughtParts(message, maker))
        add(turns, "model", typeof content === "string" ? signedText(message, content, maker) : yield* partsOf(content))
        add(turns, "model", message.refusal ? [{ text: message.refusal }] : [])
        add(turns, "model", yield* imageParts(message, maker))
        add(turns, "model", yield* callParts(jsonRecordsOf(message.tool_calls), calls, upstream, maker))
        break
      }
      case "tool": {
        const { at, part, rest } = yield* resultPart(message, calls, takesResultImages(upstream))
        places.set(part, at)
        add(turns, "tool", [part])
        media = [...media, ...rest]
      }
    }
  }

  add(turns, "user", media)
  const contents = turns.map(({ parts, side }) => ({
    role: side === "model" ? "model" : "user",
    parts: side === "tool" ? parts.toSorted((a, b) => (places.get(a) ?? 0) - (places.get(b) ?? 0)) : parts
  }))
  // Gemini requires a turn to answer: a system prompt alone becomes the user's turn.
  if (contents.length === 0) return { contents: [{ role: "user", parts: system }] }
  return system.length === 0 ? { contents } : { contents, systemInstruction: { parts: system } }
})

const add = (turns: Array<Turn>, side: Turn["side"], parts: ReadonlyArray<JsonRecord>): void => {
  if (parts.length === 0) return
  const last = turns.at(-1)
  if (last?.side === side) addAll(last.parts, parts)
  else turns.push({ side, parts: [...parts] })
}

/** The calls of one message. Only the first of parallel calls has a signature. */
const callParts = resultFn(function* (
  toolCalls: ReadonlyArray<JsonRecord>,
  calls: Map<string, Call>,
  upstream: string,
  maker: ThoughtMaker
) {
  const isDemanded = demandsSignatures(upstream)
  const parts: Array<JsonRecord> = []
  for (const [at, toolCall] of toolCalls.entries()) {
    const called = isJsonRecord(toolCall["function"]) ? toolCall["function"] : {}
    const name = stringOf(called["name"])
    if (name === null) return yield* refuse("only calls of functions are supported here")
    const written = stringOf(called["arguments"]) || "{}"
    const args = parseJson(written)
    if (!isJsonRecord(args)) return yield* refuse(`the arguments of ${name} are not a JSON object`)
    const id = stringOf(toolCall["id"])
    if (id !== null) calls.set(id, { name, at })
    const signature = callSignature(toolCall, maker) ?? (isDemanded && at === 0 ? UNSIGNED : null)
    parts.push({
      functionCall: { ...nativeId(id), name, args },
      ...(signature === null ? {} : { thoughtSignature: signature })
    })
  }
  return parts
})

/** A result, and the media that `takesImages` does not let it hold. */
const resultPart = resultFn(function* (message: ChatMessage, calls: ReadonlyMap<string, Call>, takesImages: boolean) {
  const id = message.tool_call_id ?? null
  const call = id === null ? undefined : calls.get(id)
  const name = call?.name ?? message.name
  if (name === undefined || name === null)
    return yield* refuse(`the tool result ${JSON.stringify(id)} answers no call of this conversation`)
  const all = yield* partsOf(message.content)
  const text = all.map((part) => stringOf(part["text"]) ?? "").join("")
  const media = all.filter((part) => !("text" in part))
  const held = takesImages ? media.filter((part) => "inlineData" in part) : []
  const value = parseJson(text)
  const response = isJsonRecord(value) ? value : { output: text }
  const part: JsonRecord = {
    functionResponse: { ...nativeId(id), name, response, ...(held.length === 0 ? {} : { parts: held }) }
  }
  return { part, at: call?.at ?? 0, rest: media.filter((each) => !held.includes(each)) }
})

const nativeId = (id: string | null) => (id === null || id === "" || id.startsWith(FOREIGN_ID) ? {} : { id })

const refuse = (message: string): Result.Result<never, Unsupported> =>
  Result.fail(new Unsupported({ param: "messages", message }))
