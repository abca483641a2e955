/** Decodes `parameters` of a provider or a preset: what a server of the `openai` dialect takes. */
import { Schema } from "effect"
import { type ParameterRules } from "../../domain/Catalog.ts"
import { choice, text } from "../Forms.ts"

/** Names of members, as clients write them. */
const MemberName = text("a member of a request, such as store", (name) => /^[a-z_]+(?:\.[a-z_]+)?$/.test(name))

export const ParametersEntry = Schema.Struct({
  refused: Schema.optionalKey(Schema.Array(MemberName)),
  limit: Schema.optionalKey(choice(["max_tokens", "max_completion_tokens"]))
})

/** No member where the entry has none. */
export const parametersOf = (
  entry: typeof ParametersEntry.Type | undefined
): { readonly parameters?: ParameterRules } => (entry === undefined ? {} : { parameters: entry })
