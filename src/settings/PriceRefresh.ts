/**
 * Decides on a new signed list of prices: what it would change, and whether it is refused. It
 * fetches and writes nothing.
 */
import { Effect, Result } from "effect"
import { usdPerMillionFromPico, type Pricing } from "../domain/pricing/Money.ts"
import { type SettingsShape } from "../Settings.ts"
import { acceptedPrices, type PricesSettings } from "./sections/PricesSection.ts"
import { type PriceList, publicKeyOf, readPriceList, repriced } from "./providers/PriceList.ts"
import { readConfig } from "./ReadConfig.ts"
import { type SettingsSource } from "./SettingsSource.ts"

/** USD per million tokens, as in a list. `cached_prompt` null: no discount. */
export interface ShownPrices {
  readonly prompt: number
  readonly completion: number
  readonly cached_prompt: number | null
}

export interface PriceChange {
  readonly provider: string
  readonly model: string
  readonly before: ShownPrices
  readonly after: ShownPrices
}

export interface RefreshPlan {
  readonly issuedAt: string
  /** Models whose main prices change. Other prices of the list apply, too. */
  readonly changes: ReadonlyArray<PriceChange>
  /** Models of the list that this gateway serves. */
  readonly served: number
  /** True if the list is the accepted one. */
  readonly isCurrent: boolean
}

/** A price that changes by more is taken for a fault of the list, and so is one that becomes 0. */
const MOST_FACTOR = 10
/** Clocks differ. */
const MOST_AHEAD_MS = 86_400_000

const shown = ({ cachedPrompt, completion, prompt }: Pricing): ShownPrices => ({
  prompt: usdPerMillionFromPico(prompt),
  completion: usdPerMillionFromPico(completion),
  cached_prompt: cachedPrompt === null ? null : usdPerMillionFromPico(cachedPrompt)
})

const isAbsurd = (before: number, after: number): boolean =>
  before > 0 && (after === 0 || after / before > MOST_FACTOR || before / after > MOST_FACTOR)

const compared = ({ providers }: SettingsShape, list: PriceList, own: ReadonlySet<string>) =>
  providers
    .filter(({ slug }) => !own.has(slug) && Object.hasOwn(list.prices, slug))
    .flatMap((provider) => {
      const after = repriced(provider, list)
      return provider.models.flatMap((offer, index) => {
        const next = after.models[index]
        if (next === undefined || next === offer) return []
        return [{ provider: provider.slug, model: offer.id, before: shown(offer.pricing), after: shown(next.pricing) }]
      })
    })

/** The slugs of providers that the settings file lists itself. */
export const ownSlugs = (source: SettingsSource): Effect.Effect<ReadonlySet<string>> =>
  Effect.map(readConfig(source), ({ slugs }) => slugs)

/**
 * The plan for the text of a list, or why the list is refused. `own`: slugs of providers that the
 * settings file lists itself, whose prices are the operator's.
 */
export const planRefresh = Effect.fnUntraced(function* (
  settings: SettingsShape & { readonly prices: PricesSettings },
  text: string,
  {
    nowMs,
    own,
    readFile
  }: { readonly nowMs: number; readonly own: ReadonlySet<string> } & Pick<SettingsSource, "readFile">
): Effect.fn.Return<Result.Result<RefreshPlan, string>> {
  const key = publicKeyOf(settings.prices.publicKey)
  if (key === null) return Result.fail("cannot be checked: prices.public_key is no key")
  const read = readPriceList(text, key)
  if (Result.isFailure(read)) return Result.fail(read.failure)
  const list = read.success
  const issuedAt = new Date(list.issuedAtMs).toISOString()
  if (list.issuedAtMs > nowMs + MOST_AHEAD_MS) return Result.fail(`was issued in the future, at ${issuedAt}`)
  // Settings that load have an accepted list that is read, or none.
  const accepted = yield* Effect.orElseSucceed(acceptedPrices(settings.prices, readFile), () => null)
  if (accepted !== null && list.issuedAtMs < accepted.issuedAtMs) {
    return Result.fail(
      `was issued at ${issuedAt}, before the accepted one of ${new Date(accepted.issuedAtMs).toISOString()}`
    )
  }
  const all = compared(settings, list, own)
  const absurd = all.find(
    ({ after, before }) => isAbsurd(before.prompt, after.prompt) || isAbsurd(before.completion, after.completion)
  )
  if (absurd !== undefined) {
    const { after, before, model, provider } = absurd
    const prices = ({ completion, prompt }: ShownPrices) => `${prompt} and ${completion}`
    return Result.fail(
      `changes ${model} at ${provider} from ${prices(before)} to ${prices(after)} USD per million tokens, which is more ` +
        `than ${MOST_FACTOR} times or to nothing`
    )
  }
  return Result.succeed({
    issuedAt,
    changes: all.filter(({ after, before }) => JSON.stringify(after) !== JSON.stringify(before)),
    served: all.length,
    isCurrent: accepted?.issuedAtMs === list.issuedAtMs
  })
})
