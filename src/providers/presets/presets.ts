/**
 * Provider configs of well-known vendors, complete except for the key. The vendors are in
 * Vendors.ts, their models and prices come from the pinned price list, and the mock is in Mock.ts.
 */
import { defaultTimeouts, type ProviderConfig } from "../../domain/Catalog.ts"
import { offersOf } from "./Offers.ts"
import { type Preset } from "./Vendors.ts"

/**
 * The day on which the price list was pinned. With `nowMs`, prices announced for later days apply
 * from their day on.
 */
const PRICES_AS_OF_MS = Date.UTC(2026, 10, 1)

/**
 * The config of a preset. `baseUrl` replaces the vendor's and is required if the vendor has none
 * (Azure, self-hosted servers). Trailing slashes are removed. `nowMs` selects the prices in force.
 */
export const presetProvider = (
  preset: Preset,
  options: Pick<ProviderConfig, "apiKey" | "apiKeys"> & { readonly baseUrl?: string; readonly nowMs?: number }
): ProviderConfig => ({
  slug: preset.slug,
  name: preset.name,
  dialect: preset.dialect,
  baseUrl: (options.baseUrl ?? preset.baseUrl ?? "").replace(/\/+$/, ""),
  apiKey: options.apiKey,
  ...(options.apiKeys === undefined ? {} : { apiKeys: options.apiKeys }),
  auth: options.apiKey === null ? { type: "none" } : preset.auth,
  headers: {},
  query: preset.query,
  dataPolicy: preset.policy,
  timeouts: defaultTimeouts,
  models: offersOf(preset, options.nowMs ?? PRICES_AS_OF_MS)
})
