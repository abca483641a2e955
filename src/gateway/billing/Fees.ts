/**
 * Refuses options that cost more than the tokens at the listed price, if the key has a budget: a
 * faster tier, searches, tools that run at the provider, several answers of which one is shown. The
 * ledger has no price for them.
 */
import { Predicate } from "effect"
import { gatewayError, type GatewayError, InvalidRequest } from "../../domain/Errors.ts"
import { type RequestPlan } from "../request/RequestPlan.ts"

/** Tiers at the listed price or below. */
const listedTiers = new Set(["auto", "default", "flex", "standard", "standard_only", "scale", "batch"])
/** Types of tools that the client runs itself. */
const ownTools = new Set(["function", "custom"])

/** The request's member that costs extra; null if there is none. */
const costlyMember = (request: Readonly<Record<string, unknown>>): string | null => {
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

/** Why the request is refused; null if it is allowed. */
export const feeRefusal = ({ caller, request }: RequestPlan): GatewayError | null => {
  const param = caller.key.monthlyBudgetNano === null ? null : costlyMember(request)
  return param === null
    ? null
    : gatewayError(
        new InvalidRequest({
          message: `${param} costs more than the tokens that a monthly budget counts. A key with a monthly budget cannot use it.`,
          param,
          code: "unsupported_parameter",
          provider: null
        })
      )
}
