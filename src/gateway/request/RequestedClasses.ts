/** Members of a request that lead to tokens or calls with a price of their own. */
import { Predicate } from "effect"
import { type RareClass } from "../../domain/pricing/UsageClass.ts"

type Members = Readonly<Record<string, unknown>>

/**
 * The longest time for which the request asks the provider to cache its prompt; null: it does not
 * ask.
 */
export const cacheWriteOf = (request: Members): RareClass | null => {
  let asked: RareClass | null = null
  const look = (value: unknown): void => {
    if (asked === "cache_write_1h" || !Predicate.isObject(value)) return
    const { cache_control: control, content } = value as Members
    if (Predicate.isObject(control)) asked = control["ttl"] === "1h" ? "cache_write_1h" : "cache_write"
    if (Array.isArray(content)) content.forEach(look)
  }
  look(request)
  for (const member of [request["messages"], request["tools"]]) if (Array.isArray(member)) member.forEach(look)
  return asked
}

/** The classes of output beside text that the request asks for. */
export const mediaOf = ({ modalities }: Members): ReadonlyArray<RareClass> =>
  Array.isArray(modalities) ? modalities.flatMap((name) => mediaClasses[String(name).toLowerCase()] ?? []) : []

const mediaClasses: Readonly<Record<string, RareClass>> = { audio: "completion_audio", image: "completion_image" }

/** True if the request tells the model to search before it answers. */
export const asksForSearch = ({ web_search_options: options }: Members): boolean =>
  options !== undefined && options !== null

/** The service tier that the request names. */
export const tierAsked = ({ service_tier: tier }: Members): string | undefined =>
  typeof tier === "string" ? tier.toLowerCase() : undefined
