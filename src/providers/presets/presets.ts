/**
 * Provider configs for well-known vendors: everything but the key. The list of vendors is in presets/Vendors, their
 * models and prices come from the pinned price list; the mock's config is in presets/Mock.
 */
import { type Redacted } from "effect"
import { defaultTimeouts, type ProviderConfig } from "../../domain/Catalog.ts"
import { offersOf } from "./Offers.ts"
import { type Preset } from "./Vendors.ts"

/** The day the price list was pinned; prices announced for later days count from their day on when `nowMs` is given. */
const PRICES_AS_OF_MS = Date.UTC(2026, 10, 1)

/**
 * The config of a preset. `baseUrl` replaces the vendor's own and is required where the vendor has none (Azure, servers
 * of one's own); a trailing slash is dropped. `nowMs` picks the prices in force.
 */
export const presetProvider = (
  preset: Preset,
  options: { readonly apiKey: Redacted.Redacted | null; readonly baseUrl?: string; readonly nowMs?: number }
): ProviderConfig => ({
  slug: preset.slug,
  name: preset.name,
  dialect: preset.dialect,
  baseUrl: (options.baseUrl ?? preset.baseUrl ?? "").replace(/\/+$/, ""),
  apiKey: options.apiKey,
  auth: options.apiKey === null ? { type: "none" } : preset.auth,
  headers: {},
  query: preset.query,
  dataPolicy: preset.policy,
  timeouts: defaultTimeouts,
  models: offersOf(preset, options.nowMs ?? PRICES_AS_OF_MS)
})
