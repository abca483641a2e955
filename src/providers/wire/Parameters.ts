/**
 * A dialect's support for each member of a chat request, as data. docs/reference/dialects.md shows
 * it, and a test checks the code against it.
 */
import { type ChatRequest } from "../../domain/Chat.ts"

/**
 * `mapped`: sent in the provider's own terms. `dropped`: left out, because the answer is as good
 * without it. `refused`: the provider cannot do it, and a value that asks for it fails with
 * `Unsupported`.
 */
export type ParameterSupport = "mapped" | "dropped" | "refused"

export type ParameterName = keyof (typeof ChatRequest)["schema"]["fields"]

export type Parameters = Readonly<Record<ParameterName, ParameterSupport>>
