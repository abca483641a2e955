/**
 * What a dialect does with each member of a chat request, as data: docs/reference/dialects.md shows it and a test holds the code to it.
 */
import { type ChatRequest } from "../../domain/Chat.ts"

/**
 * `mapped`: it reaches the provider in the provider's own terms. `dropped`: the answer is as good without it.
 * `refused`: the provider cannot do it, and a value that asks for it fails with `Unsupported`.
 */
export type ParameterSupport = "mapped" | "dropped" | "refused"

export type ParameterName = keyof (typeof ChatRequest)["schema"]["fields"]

export type Parameters = Readonly<Record<ParameterName, ParameterSupport>>
