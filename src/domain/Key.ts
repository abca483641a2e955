/**
 * API keys: tiers, scopes, and the stored record. A secret is `tg-<public id>-<secret>`; the record
 * holds only its hash.
 */
import { Schema } from "effect"
import { nanoFromUsd, type NanoUsd } from "./pricing/Money.ts"
import { type KeyPrivacy } from "./Privacy.ts"

export const Tier = Schema.Literals(["free", "pro", "enterprise"]).annotate({ identifier: "ApiKeyTier" })
export type Tier = typeof Tier.Type

export const Scope = Schema.Literals([
  "chat:write",
  "embeddings:write",
  "models:read",
  "generations:read",
  "privacy:preview"
]).annotate({ identifier: "ApiKeyScope" })
export type Scope = typeof Scope.Type
export const allScopes: ReadonlyArray<Scope> = Scope.literals

/** Limits of one key: requests and tokens per minute, and concurrent requests. */
export interface RateLimits {
  readonly requestsPerMinute: number
  readonly tokensPerMinute: number
  readonly concurrency: number
}

/** Default limits of the tiers. Settings may override them. */
export const defaultTiers: Readonly<Record<Tier, RateLimits>> = {
  free: { requestsPerMinute: 20, tokensPerMinute: 40_000, concurrency: 4 },
  pro: { requestsPerMinute: 300, tokensPerMinute: 400_000, concurrency: 32 },
  enterprise: { requestsPerMinute: 3_000, tokensPerMinute: 4_000_000, concurrency: 256 }
}

/** Default monthly budget of a tier's keys; `null`: no cap. */
export const defaultBudgets: Readonly<Record<Tier, NanoUsd | null>> = {
  free: nanoFromUsd(5),
  pro: nanoFromUsd(100),
  enterprise: null
}

/** States that an operator can set. Expiry is derived from `expiresAtMs`. */
export type KeyState = "active" | "disabled" | "revoked"
export type KeyStatus = KeyState | "expired"

export interface KeyRecord {
  readonly id: string
  /** The public part of the secret, by which a key is looked up. */
  readonly publicId: string
  /**
   * SHA-256 of the whole secret, in lower-case hex. Secrets have 256 random bits, so a slow hash is
   * not needed.
   */
  readonly secretHash: string
  /** The hash before the last rotation, valid until `previousValidUntilMs`. */
  readonly previousSecretHash: string | null
  readonly previousValidUntilMs: number | null
  /** The first characters, safe to show: `tg-ab12…`. */
  readonly prefix: string
  readonly name: string
  readonly tier: Tier
  readonly scopes: ReadonlyArray<Scope>
  readonly state: KeyState
  /** `null`: no cap. */
  readonly monthlyBudgetNano: NanoUsd | null
  /** Model ids and `author/*`; `null`: every model. */
  readonly allowedModels: ReadonlyArray<string> | null
  /** The key's privacy mode, if stricter than the deployment's; `null`: the deployment's. */
  readonly privacy: KeyPrivacy | null
  /** The user who owns the key; `null`: a key issued by an admin. */
  readonly ownerId: string | null
  readonly createdAtMs: number
  readonly updatedAtMs: number
  readonly lastUsedAtMs: number | null
  readonly expiresAtMs: number | null
  readonly revokedAtMs: number | null
}

export const statusOf = (key: KeyRecord, nowMs: number): KeyStatus =>
  key.state === "active" && key.expiresAtMs !== null && key.expiresAtMs <= nowMs ? "expired" : key.state

/** True if a whitelist contains a model, by its id or by `author/*`. */
export const allowsModel = (allowed: ReadonlyArray<string> | null, modelId: string): boolean =>
  allowed === null ||
  allowed.some(
    (entry) => entry === "*" || (entry.endsWith("/*") ? modelId.startsWith(entry.slice(0, -1)) : entry === modelId)
  )
