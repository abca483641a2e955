/**
 * The APIs by which `tollgate chat` can ask. Each gives the same pieces: an event as it came, its
 * text, and what it tells about the answer.
 */
import { Predicate, Stream } from "effect"
import type { Chunk, Head, MessagesEvent, ResponsesEvent, TollgateError, TollgateShape } from "../../client/Client.ts"
import { chatPayload, messagesPayload, responsesPayload, type Thread, type Wishes } from "./Turns.ts"

export type ApiName = "chat" | "messages" | "responses"

export interface Told {
  readonly model: string
  readonly provider: string
  readonly generation: string | null
  readonly finish: string | null
  /** Null: not told yet. */
  readonly tokens: readonly [prompt: number, completion: number] | null
  readonly isFromCache: boolean
  readonly costUsd: number | null
}

export interface Piece {
  readonly event: unknown
  readonly text: string
  readonly told: Partial<Told>
}

/** What the head of the answer tells, which the events of two of the APIs do not. */
const onHead = (heads: Array<Partial<Told>>) => ({
  onHead: ({ headers }: Head) => {
    heads.push({ generation: headers["x-generation-id"] ?? null, provider: headers["x-tollgate-provider"] ?? "" })
  }
})

export const asked = (
  api: ApiName,
  client: TollgateShape,
  thread: Thread,
  wishes: Wishes
): Stream.Stream<Piece, TollgateError> => {
  const heads: Array<Partial<Told>> = []
  const withHead = (piece: Piece): Piece => {
    const head = heads.pop()
    return head === undefined ? piece : { ...piece, told: { model: wishes.model, ...head, ...piece.told } }
  }
  switch (api) {
    case "chat":
      return Stream.map(client.chat.stream({ payload: chatPayload(thread, wishes) }), chatPiece)
    case "messages":
      return client.messages
        .stream({ payload: messagesPayload(thread, wishes) }, onHead(heads))
        .pipe(Stream.map(messagesPiece), Stream.map(withHead))
    case "responses":
      return client.responses
        .stream({ payload: responsesPayload(thread, wishes) }, onHead(heads))
        .pipe(Stream.map(responsesPiece), Stream.map(withHead))
  }
}

const chatPiece = (chunk: Chunk): Piece => {
  const { choices, generation_id, model, provider, usage } = chunk
  const content = choices[0]?.delta["content"]
  return {
    event: chunk,
    text: typeof content === "string" ? content : "",
    told: {
      model,
      ...(provider === undefined ? {} : { provider }),
      ...(generation_id == null ? {} : { generation: generation_id }),
      ...(choices[0]?.finish_reason == null ? {} : { finish: choices[0].finish_reason }),
      ...(usage == null
        ? {}
        : {
            tokens: [usage.prompt_tokens ?? 0, usage.completion_tokens ?? 0],
            isFromCache: usage.cache_hit,
            // Absent if the ledger could not record the cost.
            costUsd: usage.estimated_cost_usd ?? null
          })
    }
  }
}

type Members = Readonly<Record<string, unknown>>

const membersOf = (value: unknown): Members => (Predicate.isObject(value) ? { ...value } : {})
const textOf = (value: unknown): string => (typeof value === "string" ? value : "")
const numberOf = (value: unknown): number => (typeof value === "number" ? value : 0)

/** The usage of both APIs. `cached`: members of the prompt beside `input_tokens`. */
const usageTold = (usage: Members, cached: ReadonlyArray<string>): Partial<Told> =>
  usage["output_tokens"] === undefined
    ? {}
    : {
        tokens: [
          ["input_tokens", ...cached].reduce((sum, name) => sum + numberOf(usage[name]), 0),
          numberOf(usage["output_tokens"])
        ],
        costUsd: typeof usage["cost"] === "number" ? usage["cost"] : null
      }

const messagesPiece = (event: MessagesEvent): Piece => {
  const delta = membersOf(event["delta"])
  const isEnd = event.type === "message_delta"
  const reason = textOf(delta["stop_reason"])
  return {
    event,
    text: delta["type"] === "text_delta" ? textOf(delta["text"]) : "",
    told: {
      ...(isEnd
        ? usageTold(membersOf(event["usage"]), ["cache_creation_input_tokens", "cache_read_input_tokens"])
        : {}),
      ...(reason === "" ? {} : { finish: reason === "end_turn" ? "stop" : reason })
    }
  }
}

const responsesPiece = (event: ResponsesEvent): Piece => {
  const response = membersOf(event["response"])
  const status = textOf(response["status"])
  return {
    event,
    text: event.type === "response.output_text.delta" ? textOf(event["delta"]) : "",
    told: {
      ...usageTold(membersOf(response["usage"]), []),
      ...(status === "" || status === "in_progress" ? {} : { finish: status === "completed" ? "stop" : status })
    }
  }
}
