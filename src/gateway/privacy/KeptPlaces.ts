/**
 * The complete list of values that the guard sends unsearched. Each row gives places in a request,
 * the form that a value there must have, and the reason. A value in such a place that has another
 * form is searched like any text. Everything else is searched: unknown members, unknown kinds of
 * parts, numbers, names of members. docs/reference/privacy.md shows this table.
 */

/**
 * `any`: everything below. `word`: the name of a kind, such as `image_url`. `id`: an identifier
 * without blanks and `@`. `bytes`: base64, alone or in a data URL. `number`: a JSON number.
 * `bounds`: numbers below it that are limits in a JSON schema, such as `maxLength`. `weights`:
 * numbers below it, and member names of up to eight digits. `signed`: a text beside a signature.
 */
export type KeptForm = "any" | "word" | "id" | "bytes" | "number" | "bounds" | "weights" | "signed"

/** What is known of the places in one form of requests. */
export interface Places {
  readonly kept: ReadonlyArray<KeptPlace>
  /** See `toolNames`. */
  readonly toolNames: ReadonlyArray<string>
  /** Texts that are JSON. */
  readonly json: ReadonlyArray<string>
  /** Texts that are searched as JSON if they look like it. */
  readonly likelyJson: ReadonlyArray<string>
  /** Parts whose `content` has parts again; null: there are none. */
  readonly part: string | null
}

export interface KeptPlace {
  readonly form: KeptForm
  /**
   * `[]` stands for each item of a list, or for the value itself if it is not a list. A part inside
   * a part counts as a part.
   */
  readonly paths: ReadonlyArray<string>
  readonly why: string
}

const part = "messages[].content[]"
const call = "messages[].tool_calls[]"
const detail = "messages[].reasoning_details[]"
const image = "messages[].images[]"
const thought = "messages[].thinking_blocks[]"

export const keptPlaces: ReadonlyArray<KeptPlace> = [
  {
    form: "any",
    paths: ["model", "models", "provider", "messages[].role"],
    why: "they choose the model, the route and the role"
  },
  {
    form: "word",
    paths: [
      `${part}.type`,
      `${part}.source.type`,
      `${call}.type`,
      `${image}.type`,
      `${detail}.type`,
      `${thought}.type`,
      "tools[].type",
      "tool_choice.type",
      "response_format.type",
      "prediction.type"
    ],
    why: "words of the protocol; a provider accepts no others"
  },
  {
    form: "id",
    paths: [
      "messages[].tool_call_id",
      `${call}.id`,
      `${part}.id`,
      `${part}.tool_use_id`,
      `${part}.file.file_id`,
      `${part}.source.file_id`,
      `${detail}.id`,
      `${detail}.format`,
      `${detail}.provider`,
      `${call}.extra_content.google.provider`,
      `${image}.extra_content.google.provider`,
      "messages[].audio.id"
    ],
    why: "a provider made them or compares them: a result must name its call"
  },
  {
    form: "bytes",
    paths: [
      `${part}.image_url`,
      `${part}.image_url.url`,
      `${part}.video_url.url`,
      `${part}.input_audio.data`,
      `${part}.file.file_data`,
      `${part}.source.data`,
      `${image}.image_url.url`
    ],
    why: "images, audio and files are not text"
  },
  {
    form: "bytes",
    paths: [
      `${part}.signature`,
      `${part}.thought_signature`,
      `${part}.data`,
      `${part}.encrypted_content`,
      `${part}.encrypted_index`,
      `${part}.extra_content.google.thought_signature`,
      `${detail}.signature`,
      `${detail}.data`,
      `${thought}.signature`,
      `${thought}.data`,
      `${call}.extra_content.google.thought_signature`,
      `${image}.extra_content.google.thought_signature`,
      "messages[].extra_content.google.thought_signature"
    ],
    why: "signatures and encrypted reasoning are checked byte by byte by the provider that made them"
  },
  {
    form: "number",
    paths: [
      "temperature",
      "top_p",
      "top_k",
      "top_a",
      "min_p",
      "n",
      "seed",
      "max_tokens",
      "max_completion_tokens",
      "presence_penalty",
      "frequency_penalty",
      "repetition_penalty",
      "top_logprobs",
      "dimensions",
      "reasoning.max_tokens",
      "thinking.budget_tokens"
    ],
    why: "numeric parameters of the protocol"
  },
  { form: "weights", paths: ["logit_bias"], why: "token numbers and their weights" },
  {
    form: "bounds",
    paths: [
      "tools[].function.parameters",
      "tools[].input_schema",
      "functions[].parameters",
      "response_format.json_schema.schema"
    ],
    why: "lengths and ranges in a schema; its texts and values are searched"
  }
]

/**
 * Names of tools. Providers only allow letters, digits, `_` and `-` in them, so a placeholder in a
 * name has no brackets.
 */
const toolNames: ReadonlyArray<string> = [
  "tools[].function.name",
  "tools[].custom.name",
  "tools[].name",
  "functions[].name",
  "tool_choice.function.name",
  "tool_choice.custom.name",
  "tool_choice.name",
  "function_call.name",
  `${call}.function.name`,
  `${call}.custom.name`,
  "messages[].function_call.name",
  `${part}.name`
]

/** Texts that are JSON. */
const jsonTexts: ReadonlyArray<string> = [`${call}.function.arguments`, "messages[].function_call.arguments"]
/** Texts that are searched as JSON if they look like it. So are all texts of a tool's message. */
const likelyJsonTexts: ReadonlyArray<string> = [`${part}.content`, `${call}.custom.input`]

export const chatPlaces: Places = {
  kept: keptPlaces,
  toolNames,
  json: jsonTexts,
  likelyJson: likelyJsonTexts,
  part
}
