/**
 * The settings in force as an operator writes them: the sections of the settings file and the
 * environment variables, with their names and units. Secrets stay `Redacted`.
 */
import { type ModelOffer, type ProviderConfig } from "../domain/Catalog.ts"
import {
  listedFromPico,
  type Prices,
  type Pricing,
  usdFromNano,
  usdPerMillionFromPico
} from "../domain/pricing/Money.ts"
import { mapClasses } from "../domain/pricing/UsageClass.ts"
import { type SettingsShape } from "../Settings.ts"

const usdOrNull = (nano: number | null): number | null => (nano === null ? null : usdFromNano(nano))

const pricesOf = <P extends Prices>({ cachedPrompt, completion, prompt, rare, ...rest }: P) => ({
  prompt: usdPerMillionFromPico(prompt),
  completion: usdPerMillionFromPico(completion),
  cachedPrompt: cachedPrompt === null ? null : usdPerMillionFromPico(cachedPrompt),
  ...(rare === undefined ? {} : mapClasses(rare, (pico, name) => listedFromPico(name, pico))),
  ...rest
})

const pricingOf = ({ tiers, ...pricing }: Pricing) => ({
  ...pricesOf(pricing),
  ...(tiers === undefined ? {} : { tiers: tiers.map(pricesOf) })
})

const modelOf = ({ pricing, ...offer }: ModelOffer) => ({ ...offer, pricing: pricingOf(pricing) })

const providerOf = ({ accountObjects, auth, models, ...provider }: ProviderConfig) => ({
  ...provider,
  ...(auth.type === "header" ? { authHeader: auth.name } : {}),
  ...(accountObjects === true ? { accountObjects: "allow" } : {}),
  models: models.map(modelOf)
})

const tierOf = (settings: SettingsShape, tier: keyof SettingsShape["tiers"]) => ({
  ...settings.tiers[tier],
  monthlyBudgetUsd: usdOrNull(settings.tierBudgets[tier])
})

const authOf = ({ email, isBudgetSet: _isBudgetSet, newUsers, ...auth }: SettingsShape["auth"]) => {
  const { monthlyBudgetNano, ...granted } = newUsers
  return {
    ...auth,
    email:
      email === null
        ? null
        : {
            smtpUrl: email.smtpUrl,
            from: email.from,
            starttls: email.isTlsNeeded === true ? "required" : "if_offered"
          },
    newUsers: { ...granted, monthlyBudgetUsd: usdOrNull(monthlyBudgetNano) }
  }
}

/**
 * The sections of the settings file. Members are in camel case; a reader writes them in snake case.
 */
export const sectionsOf = (settings: SettingsShape) => {
  const { aliases, ...routing } = settings.routing
  const { corsOrigins, ...server } = settings.server
  return {
    providers: settings.providers.map(providerOf),
    aliases: aliases ?? {},
    routing,
    tiers: { free: tierOf(settings, "free"), pro: tierOf(settings, "pro"), enterprise: tierOf(settings, "enterprise") },
    cache: settings.cache,
    idempotency: settings.idempotency,
    responses: settings.responses,
    audit: settings.audit,
    generations: settings.generations,
    markup: settings.markup,
    ledger: { leaseSeconds: settings.ledger.leaseMs / 1_000 },
    privacy: settings.privacy,
    ...(settings.prices === undefined ? {} : { prices: settings.prices }),
    webhooks: settings.webhooks,
    auth: authOf(settings.auth),
    server,
    cors: { origins: corsOrigins ?? [] }
  }
}

/** The environment variables, without those of exporters. */
export const variablesOf = (settings: SettingsShape) => ({
  TOLLGATE_HOST: settings.host,
  TOLLGATE_PORT: settings.port,
  TOLLGATE_ADMIN_PORT: settings.adminPort,
  TOLLGATE_ADMIN_KEY: settings.adminKey,
  TOLLGATE_DATA_DIR: settings.dataDir,
  DATABASE_URL: settings.databaseUrl,
  TOLLGATE_DATABASE_POOL: settings.databasePool,
  REDIS_URL: settings.redisUrl,
  TOLLGATE_WORKERS: settings.workers,
  TOLLGATE_ENV: settings.environment,
  TOLLGATE_LOG_LEVEL: settings.logLevel,
  TOLLGATE_LOG_FORMAT: settings.logFormat,
  TOLLGATE_MAX_BODY_BYTES: settings.maxBodyBytes,
  TOLLGATE_BODY_TIMEOUT_MS: settings.bodyTimeoutMs,
  TOLLGATE_DRAIN_TIMEOUT_MS: settings.drainTimeoutMs,
  TOLLGATE_SHUTDOWN_GRACE_MS: settings.shutdownGraceMs
})
