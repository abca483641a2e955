/**
 * What a request may ask of a provider that costs more than its tokens at the listed price: a faster tier, searches, tools that run at the
 * provider, several answers of which one is shown. The ledger knows no price for it, so a key with a budget may not ask for it.
 */
import { Predicate } from "effect"
import { gatewayError, type GatewayError, InvalidRequest } from "../../domain/Errors.ts"
import { type RequestPlan } from "../request/RequestPlan.ts"

/** Tiers that cost what the list says, or less. */
const listedTiers = new Set(["auto", "default", "flex", "standard", "standard_only", "scale", "batch"])
/** Kinds of tools that the client runs itself. */
const ownTools = new Set(["function", "custom"])

/** The member that asks for it; null: none does. */
const dearMember = (request: Readonly<Record<string, unknown>>): string | null => {
  const { best_of, plugins, service_tier, tools, web_search_options } = request
  if (typeof service_tier === "string" && !listedTiers.has(service_tier)) return "service_tier"
  if (typeof best_of === "number" && best_of > (typeof request["n"] === "number" ? request["n"] : 1)) return "best_of"
  if (web_search_options !== undefined && web_search_options !== null) return "web_search_options"
  if (Array.isArray(plugins) && plugins.length > 0) return "plugins"
  const foreign = Array.isArray(tools) ? tools.findIndex((tool) => !isOwn(tool)) : -1
  return foreign < 0 ? null : `tools[${foreign}].type`
}

const isOwn = (tool: unknown): boolean =>
  Predicate.isObject(tool) &&
  (tool["type"] === undefined || (typeof tool["type"] === "string" && ownTools.has(tool["type"])))

/** Why the request's key may not send it; null: it may. */
export const feeRefusal = ({ caller, request }: RequestPlan): GatewayError | null => {
  const param = caller.key.monthlyBudgetNano === null ? null : dearMember(request)
  return param === null
    ? null
    : gatewayError(
        new InvalidRequest({
          message: `${param} costs more than the tokens that a budget is counted in: a key with a monthly budget cannot ask for it`,
          param,
          code: "unsupported_parameter",
          provider: null
        })
      )
}
