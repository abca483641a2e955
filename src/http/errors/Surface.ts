/**
 * The API that a request is for, by its path. Each has its own form of errors, also for requests
 * that are refused before an endpoint is found.
 */

/**
 * `messages`: Anthropic's Messages API. `responses`: OpenAI's Responses API. `openai`: all other
 * endpoints.
 */
export type Surface = "openai" | "messages" | "responses"

/** Also paths that a wrong base URL makes, such as `/v1/v1/messages` and `/messages`. */
const form = /^(?:https?:\/\/[^/?#]*)?\/+(?:(?:api|v1)\/+)*(messages|responses)(?:[/?#]|$)/i

/** `url`: the target of the request, a path or a whole address. */
export const surfaceOf = (url: string): Surface => {
  const name = form.exec(url)?.[1]?.toLowerCase()
  return name === "messages" || name === "responses" ? name : "openai"
}
