/**
 * Recognises, by name, OpenAI's models that need its Responses API: some are served by it alone,
 * and from GPT-5.2 on chat completions refuse tools beside reasoning. This is the default of an
 * offer's `api` at OpenAI's and Azure's own servers. The settings file overrides it.
 */
import { type ModelOffer } from "../../domain/Catalog.ts"

const responsesOnly = /^(?:codex-|o\d+-pro|gpt-5(?:[.-]\d)?-(?:pro|codex))/
/** GPT-5.2 and later. Its chat models do not reason. */
const refusesTools = /^gpt-(?:5[.-](?:[2-9]|\d\d)|[6-9]|[12]\d)(?!\d)(?!.*-chat)/

/** `upstream`: the provider's name of the model. */
export const apiOf = (upstream: string): NonNullable<ModelOffer["api"]> => {
  const name = upstream.toLowerCase()
  return responsesOnly.test(name) || refusesTools.test(name) ? "responses" : "chat"
}

/** True for a server of OpenAI or Azure. Other servers of the dialect often lack the API. */
export const servesResponses = (baseUrl: string): boolean =>
  /(?:^|\.)(?:api\.openai|azure)\.com$/.test(URL.parse(baseUrl)?.hostname ?? "")
