/**
 * Refuses options whose cost cannot be reserved, if the key has a budget: a faster tier without a
 * price, searches and other tools of the provider, several answers of which one is shown.
 */
import { Predicate } from "effect"
import { gatewayError, type GatewayError, InvalidRequest } from "../../domain/Errors.ts"
import { tierFactor } from "../../domain/pricing/Pricing.ts"
import { tierAsked } from "../request/RequestedClasses.ts"
import { costlyNativeMember } from "./NativeFees.ts"
import { type RequestPlan } from "../request/RequestPlan.ts"

/** Types of tools that the client runs itself; Anthropic's have a date. */
const ownTool = /^(?:function|custom|(?:bash|text_editor|computer|memory)_\d{8})$/

/** The request's member that costs extra; null if there is none, or if its price is known. */
const costlyMember = ({ ranked, request }: RequestPlan): string | null => {
  const { best_of, n, plugins, tools, web_search_options }: Readonly<Record<string, unknown>> = request
  const tier = tierAsked(request)
  if (tier !== undefined && ranked.some(({ offer }) => tierFactor(offer.pricing, tier) === null)) return "service_tier"
  if (typeof best_of === "number" && best_of > (typeof n === "number" ? n : 1)) return "best_of"
  if (web_search_options !== undefined && web_search_options !== null) return "web_search_options"
  if (Array.isArray(plugins) && plugins.length > 0) return "plugins"
  const foreign = Array.isArray(tools) ? tools.findIndex((tool) => !isOwn(tool)) : -1
  return foreign < 0 ? null : `tools[${foreign}].type`
}

const isOwn = (tool: unknown): boolean =>
  Predicate.isObject(tool) &&
  (tool["type"] === undefined || (typeof tool["type"] === "string" && ownTool.test(tool["type"])))

/** Why the request is refused; null if it is allowed. */
export const feeRefusal = (plan: RequestPlan): GatewayError | null => {
  const param = plan.caller.key.monthlyBudgetNano === null ? null : (costlyMember(plan) ?? costlyNativeMember(plan))
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
