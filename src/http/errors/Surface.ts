/**
 * The API that a request is for, by its path. Each has its own form of errors, also for requests
 * that are refused before an endpoint is found.
 */

/** `messages`: Anthropic's Messages API. `openai`: all other endpoints. */
export type Surface = "openai" | "messages"

/** Also paths that a wrong base URL makes, such as `/v1/v1/messages` and `/messages`. */
const messages = /^(?:https?:\/\/[^/?#]*)?\/+(?:(?:api|v1)\/+)*messages(?:[/?#]|$)/i

/** `url`: the target of the request, a path or a whole address. */
export const surfaceOf = (url: string): Surface => (messages.test(url) ? "messages" : "openai")
