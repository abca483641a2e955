/**
 * The settings that a reload changes: those that no open store and no listening port depends on.
 */
import { type SettingsShape } from "../Settings.ts"
import { type SettingsOrigin } from "./Origin.ts"

/** The settings after a reload: reloadable members from the file, the rest from the start. */
export const reloaded = (started: SettingsShape, fresh: SettingsShape): SettingsShape => ({
  ...started,
  providers: fresh.providers,
  ...(fresh.prices === undefined ? {} : { prices: fresh.prices }),
  routing: fresh.routing,
  tiers: fresh.tiers,
  tierBudgets: fresh.tierBudgets,
  cache: { ...fresh.cache, maxEntries: started.cache.maxEntries },
  markup: fresh.markup,
  idempotency: fresh.idempotency,
  responses: fresh.responses,
  privacy: fresh.privacy,
  auth: fresh.auth,
  ...(fresh.origin === undefined ? {} : { origin: originOf(started, fresh.origin) })
})

/** The sections that hold after a reload. `cache.max_entries` does not. */
const isReloaded = (member: string): boolean =>
  /^(?:providers|presets|prices|aliases|routing|tiers|cache|markup|idempotency|responses|privacy|auth)(?:\.|$)/.test(
    member
  ) && member !== "cache.max_entries"

const originOf = (started: SettingsShape, fresh: SettingsOrigin): SettingsOrigin => ({
  ...fresh,
  members: [
    ...fresh.members.filter(isReloaded),
    ...(started.origin?.members ?? []).filter((member) => !isReloaded(member))
  ]
})
