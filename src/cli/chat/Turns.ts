/** A conversation: its instructions and turns, and its form in each of the APIs. */
import type { Schema } from "effect"
import type { ChatRequest } from "../../client/Client.ts"

export interface Image {
  readonly mediaType: string
  readonly base64: string
}

export interface Turn {
  readonly role: "user" | "assistant"
  readonly text: string
  readonly images?: ReadonlyArray<Image>
}

export interface Thread {
  readonly system: string | null
  readonly turns: ReadonlyArray<Turn>
}

/** What a request says besides its messages. */
export interface Wishes {
  readonly model: string
  readonly maxTokens: number | null
  readonly temperature: number | null
  readonly provider: {
    readonly sort?: "price" | "throughput" | "latency"
    readonly order?: ReadonlyArray<string>
    readonly allow_fallbacks?: false
    readonly data_collection?: "deny"
  }
}

/** An output limit for the Messages API, which demands one. */
const MESSAGES_TOKENS = 4_096

const dataUrl = ({ base64, mediaType }: Image): string => `data:${mediaType};base64,${base64}`

type Part = Schema.JsonObject

/** A text alone, or parts with the images. */
const contentOf = <Part>(
  { images = [], text }: Turn,
  textPart: (text: string) => Part,
  imagePart: (image: Image) => Part
) => (images.length === 0 ? text : [...images.map(imagePart), textPart(text)])

export const chatPayload = ({ system, turns }: Thread, { maxTokens, model, provider, temperature }: Wishes) =>
  ({
    model,
    messages: [
      ...(system === null ? [] : [{ role: "system" as const, content: system }]),
      ...turns.map((turn) => ({
        role: turn.role,
        content: contentOf<Part>(
          turn,
          (text) => ({ type: "text", text }),
          (image) => ({ type: "image_url", image_url: { url: dataUrl(image) } })
        )
      }))
    ],
    ...(maxTokens === null ? {} : { max_tokens: maxTokens }),
    ...(temperature === null ? {} : { temperature }),
    provider
  }) satisfies ChatRequest["payload"]

export const messagesPayload = ({ system, turns }: Thread, { maxTokens, model, provider, temperature }: Wishes) => ({
  model,
  max_tokens: maxTokens ?? MESSAGES_TOKENS,
  messages: turns.map((turn) => ({
    role: turn.role,
    content: contentOf<Part>(
      turn,
      (text) => ({ type: "text", text }),
      ({ base64, mediaType }) => ({ type: "image", source: { type: "base64", media_type: mediaType, data: base64 } })
    )
  })),
  ...(system === null ? {} : { system }),
  ...(temperature === null ? {} : { temperature }),
  provider
})

export const responsesPayload = ({ system, turns }: Thread, { maxTokens, model, provider, temperature }: Wishes) => ({
  model,
  input: turns.map((turn) => ({
    role: turn.role,
    content: contentOf<Part>(
      turn,
      (text) => ({ type: "input_text", text }),
      (image) => ({ type: "input_image", image_url: dataUrl(image) })
    )
  })),
  ...(maxTokens === null ? {} : { max_output_tokens: maxTokens }),
  ...(system === null ? {} : { instructions: system }),
  ...(temperature === null ? {} : { temperature }),
  provider
})
