/** What a reload changes: members of the settings file that no open store and no listening port depends on. */
import { type SettingsShape } from "../Settings.ts"

/** What a reload takes from the file; the rest is the start's. */
export const reloaded = (started: SettingsShape, fresh: SettingsShape): SettingsShape => ({
  ...started,
  providers: fresh.providers,
  routing: fresh.routing,
  tiers: fresh.tiers,
  tierBudgets: fresh.tierBudgets,
  cache: { ...fresh.cache, maxEntries: started.cache.maxEntries },
  markup: fresh.markup,
  idempotency: fresh.idempotency,
  privacy: fresh.privacy,
  auth: fresh.auth
})
