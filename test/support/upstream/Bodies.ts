/**
 * Bodies in OpenAI's format for scripted upstreams, as vendors send them. Everything has a default;
 * a test passes what it is about.
 */

export interface UsageCounts {
  readonly prompt_tokens?: number
  readonly completion_tokens?: number
  readonly cached_tokens?: number
}

export const usageBody = ({ cached_tokens = 0, completion_tokens = 5, prompt_tokens = 9 }: UsageCounts = {}) => ({
  prompt_tokens,
  completion_tokens,
  total_tokens: prompt_tokens + completion_tokens,
  prompt_tokens_details: { cached_tokens, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 }
})

/**
 * A `chat.completion`. `message` is merged into the assistant's message; `usage: null` omits usage.
 */
export const chatBody = (
  options: {
    readonly content?: string | null
    readonly message?: Readonly<Record<string, unknown>>
    readonly finish_reason?: string | null
    readonly usage?: UsageCounts | null
  } = {}
) => ({
  id: "chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT",
  object: "chat.completion",
  created: 1_741_569_952,
  model: "small-2026",
  choices: [
    {
      index: 0,
      message: {
        role: "assistant",
        content: options.content === undefined ? "Hello there!" : options.content,
        refusal: null,
        ...options.message
      },
      logprobs: null,
      finish_reason: options.finish_reason === undefined ? "stop" : options.finish_reason
    }
  ],
  ...(options.usage === null ? {} : { usage: usageBody(options.usage) }),
  service_tier: "default",
  system_fingerprint: "fp_44709d6fcb"
})

/** One `chat.completion.chunk` of one choice. */
export const chunkBody = (
  delta: Readonly<Record<string, unknown>>,
  finish_reason: string | null = null,
  index = 0
) => ({
  ...chunkHead,
  choices: [{ index, delta, logprobs: null, finish_reason }],
  usage: null
})

/** The last chunk of a stream with `include_usage`. */
export const usageChunkBody = (usage: UsageCounts = {}): Readonly<Record<string, unknown>> => ({
  ...chunkHead,
  choices: [],
  usage: usageBody(usage)
})

const chunkHead = {
  id: "chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG",
  object: "chat.completion.chunk",
  created: 1_741_570_283,
  model: "small-2026",
  service_tier: "default",
  system_fingerprint: "fp_44709d6fcb"
}

/** A server-sent event. */
export const sse = (data: unknown): string => `data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`

export const DONE = "data: [DONE]\n\n"

/**
 * A complete good stream, one chunk for each event: the role, each text, the finish reason, usage,
 * `[DONE]`.
 */
export const streamChunks = (texts: ReadonlyArray<string>, usage: UsageCounts | null = {}): ReadonlyArray<string> => [
  sse(chunkBody({ role: "assistant", content: "", refusal: null })),
  ...texts.map((content) => sse(chunkBody({ content }))),
  sse(chunkBody({}, "stop")),
  ...(usage === null ? [] : [sse(usageChunkBody(usage))]),
  DONE
]

export const embeddingsBody = (vectors: ReadonlyArray<ReadonlyArray<number> | string>, prompt_tokens = 8) => ({
  object: "list",
  data: vectors.map((embedding, index) => ({ object: "embedding", index, embedding })),
  model: "embed-2026",
  usage: { prompt_tokens, total_tokens: prompt_tokens }
})

/** `{"error": …}` as OpenAI writes it. */
export const errorBody = (
  message: string,
  options: { readonly type?: string; readonly param?: string | null; readonly code?: string | null } = {}
) => ({
  error: {
    message,
    type: options.type ?? "invalid_request_error",
    param: options.param ?? null,
    code: options.code ?? null
  }
})
