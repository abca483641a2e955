/**
 * Members of a request in the form of its own API whose cost cannot be reserved: calls that the
 * vendor makes by itself, other models, and prices of their own. What a chat request can say is in
 * Fees.ts.
 */
import { Predicate } from "effect"
import { type NativeRequest, speaks } from "../../domain/Native.ts"
import { type RequestPlan } from "../request/RequestPlan.ts"

type Members = Readonly<Record<string, unknown>>

/** The first such member that some candidate would get; null: there is none. */
export const costlyNativeMember = ({ native, ranked }: RequestPlan): string | null =>
  native !== undefined && ranked.some((candidate) => speaks(candidate, native.dialect))
    ? costly[native.dialect](native)
    : null

const isFilled = (value: unknown): boolean => Array.isArray(value) && value.length > 0

const costly: Readonly<Record<NativeRequest["dialect"], (native: NativeRequest) => string | null>> = {
  anthropic: ({ body }) => {
    const { context_management: context, fallbacks, inference_geo: region, mcp_servers: servers, speed } = body
    if (isFilled(servers)) return "mcp_servers"
    if (isFilled(fallbacks)) return "fallbacks"
    if (typeof speed === "string" && speed !== "standard") return "speed"
    if (typeof region === "string" && region !== "global") return "inference_geo"
    const edits: unknown = Predicate.isObject(context) ? (context as Members)["edits"] : undefined
    const compacts = (edit: unknown) =>
      Predicate.isObject(edit) && String((edit as Members)["type"]).startsWith("compact")
    return Array.isArray(edits) && edits.some(compacts) ? "context_management" : null
  },
  // Its hosted tools are tools of the chat request too.
  responses: () => null
}
