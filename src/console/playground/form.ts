/** A chat request as the playground's form, and as a request body. */

export interface Turn {
  readonly role: "user" | "assistant"
  readonly content: string
}

export interface Draft {
  readonly model: string
  readonly system: string
  readonly prompt: string
  readonly temperature: string
  readonly maxTokens: string
  readonly stream: boolean
  readonly fresh: boolean
  readonly sort: string
  readonly order: string
  readonly only: string
  readonly ignore: string
  readonly allowFallbacks: boolean
  readonly denyCollection: boolean
  readonly maxPromptPrice: string
  readonly maxCompletionPrice: string
}

export const emptyDraft: Draft = {
  model: "",
  system: "",
  prompt: "",
  temperature: "",
  maxTokens: "",
  stream: true,
  fresh: false,
  sort: "",
  order: "",
  only: "",
  ignore: "",
  allowFallbacks: true,
  denyCollection: false,
  maxPromptPrice: "",
  maxCompletionPrice: ""
}

type Members = Readonly<Record<string, unknown>>

const slugs = (text: string): ReadonlyArray<string> => text.split(/[\s,]+/).filter((slug) => slug !== "")
const number = (name: string, text: string): Members => (text.trim() === "" ? {} : { [name]: Number(text) })
const list = (name: string, text: string): Members => (slugs(text).length === 0 ? {} : { [name]: slugs(text) })

const preferences = (draft: Draft): Members => {
  const price = { ...number("prompt", draft.maxPromptPrice), ...number("completion", draft.maxCompletionPrice) }
  return {
    ...(draft.sort === "" ? {} : { sort: draft.sort }),
    ...list("order", draft.order),
    ...list("only", draft.only),
    ...list("ignore", draft.ignore),
    ...(draft.allowFallbacks ? {} : { allow_fallbacks: false }),
    ...(draft.denyCollection ? { data_collection: "deny" } : {}),
    ...(Object.keys(price).length === 0 ? {} : { max_price: price })
  }
}

/** The request's body. `before`: the earlier turns. */
export const bodyOf = (draft: Draft, before: ReadonlyArray<Turn>): Members => {
  const provider = preferences(draft)
  return {
    model: draft.model,
    messages: [
      ...(draft.system.trim() === "" ? [] : [{ role: "system", content: draft.system }]),
      ...before,
      { role: "user", content: draft.prompt }
    ],
    ...number("temperature", draft.temperature),
    ...number("max_tokens", draft.maxTokens),
    ...(draft.stream ? { stream: true } : {}),
    ...(Object.keys(provider).length === 0 ? {} : { provider })
  }
}
