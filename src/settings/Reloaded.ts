/**
 * The settings that a reload changes: those that no open store and no listening port depends on.
 */
import { type SettingsShape } from "../Settings.ts"

/** The settings after a reload: reloadable members from the file, the rest from the start. */
export const reloaded = (started: SettingsShape, fresh: SettingsShape): SettingsShape => ({
  ...started,
  providers: fresh.providers,
  routing: fresh.routing,
  tiers: fresh.tiers,
  tierBudgets: fresh.tierBudgets,
  cache: { ...fresh.cache, maxEntries: started.cache.maxEntries },
  markup: fresh.markup,
  idempotency: fresh.idempotency,
  responses: fresh.responses,
  privacy: fresh.privacy,
  auth: fresh.auth
})
