/**
 * Finds the caller of a request: the key, the limits of its tier, and those of its owner, which all
 * keys of the owner share.
 */
import { Effect, Option } from "effect"
import { type KeyRecord, type RateLimits, type Tier } from "../../domain/Key.ts"
import { type KeyRepo } from "../../store/keys/KeyRepo.ts"
import { type StoreError } from "../../store/StoreError.ts"
import { type Caller } from "../request/Caller.ts"

/** Finds by the public id. An owner without a granted tier has the limits of the key's tier. */
export const callerFinder =
  (repo: KeyRepo["Service"], tiers: Readonly<Record<Tier, RateLimits>>) =>
  (publicId: string): Effect.Effect<Option.Option<Caller>, StoreError> =>
    Effect.flatMap(repo.findByPublicId(publicId), (found): Effect.Effect<Option.Option<Caller>, StoreError> => {
      if (Option.isNone(found)) return Effect.succeedNone
      const key: KeyRecord = found.value
      const { ownerId } = key
      const limits = tiers[key.tier]
      if (ownerId === null) return Effect.succeedSome({ key, limits, owner: null })
      return Effect.map(repo.ownerTier(ownerId), (tier) =>
        Option.some({ key, limits, owner: { id: ownerId, limits: tiers[tier ?? key.tier] } })
      )
    })
