/**
 * The package entry `tollgate/services`: the ports to what is outside of the gateway, and their
 * layers for production and memory. An entry passes on what is defined elsewhere; only entries do.
 */
export { Outbound } from "../providers/transport/Outbound.ts"
export { Transport } from "../providers/transport/Transport.ts"
export { Providers } from "../providers/Providers.ts"
export {
  type ChatCall,
  CredentialsRefused,
  Cut,
  type EmbedCall,
  Malformed,
  type Provider,
  ProviderError,
  type ProviderReason,
  Rejected,
  ServerFault,
  Throttled,
  TimedOut,
  TooLarge,
  Unreachable,
  Unsupported
} from "../providers/Provider.ts"
export { mockProvider } from "../providers/presets/Mock.ts"
export { type Batch, Batches } from "../domain/runtime/Batches.ts"
export { type ChatEvent, type ChatReply, type ChatRequest } from "../domain/Chat.ts"
export { type EmbeddingReply } from "../domain/Embedding.ts"
export { type Generation } from "../domain/Generation.ts"
export { type KeyRecord } from "../domain/Key.ts"
export { usdFromNano } from "../domain/pricing/Money.ts"
export { Ids } from "../domain/Ids.ts"
export { StoreError } from "../store/StoreError.ts"
export { RedisConnection } from "../store/redis/RedisConnection.ts"
export { Sql } from "../store/sql/Sql.ts"
export { SentAlerts } from "../store/alerts/SentAlerts.ts"
export { AuditStore } from "../store/audit/AuditStore.ts"
export { RefusedCredentialStore } from "../store/audit/RefusedCredentialStore.ts"
export { CacheStore } from "../store/cache/CacheStore.ts"
export { IdempotencyStore } from "../store/idempotency/IdempotencyStore.ts"
export { KeyRepo } from "../store/keys/KeyRepo.ts"
export { GenerationStore } from "../store/ledger/GenerationStore.ts"
export { Ledger } from "../store/ledger/Ledger.ts"
export { LedgerReports } from "../store/ledger/reports/LedgerReports.ts"
export { Limits } from "../store/limits/Limits.ts"
export { OutageStore } from "../store/outages/OutageStore.ts"
export { Challenges } from "../store/people/Challenges.ts"
export { Sessions } from "../store/people/Sessions.ts"
export { Users } from "../store/people/Users.ts"
export { ConversationStore } from "../store/providerState/ConversationStore.ts"
export { LockoutStore } from "../store/providerState/LockoutStore.ts"
export { StatsStore } from "../store/providerState/StatsStore.ts"
export { RefusalStore } from "../store/refusals/RefusalStore.ts"
export { ResponseStore } from "../store/responses/ResponseStore.ts"
export { SecretStore } from "../store/secrets/SecretStore.ts"
export { DeadLetterStore } from "../store/webhooks/DeadLetterStore.ts"
export * as SentAlertsMemory from "../store/alerts/SentAlertsMemory.ts"
export * as SentAlertsSql from "../store/alerts/SentAlertsSql.ts"
export * as AuditMemory from "../store/audit/AuditMemory.ts"
export * as AuditSql from "../store/audit/AuditSql.ts"
export * as RefusedCredentialMemory from "../store/audit/RefusedCredentialMemory.ts"
export * as RefusedCredentialSql from "../store/audit/RefusedCredentialSql.ts"
export * as CacheMemory from "../store/cache/CacheMemory.ts"
export * as CacheRedis from "../store/cache/CacheRedis.ts"
export * as IdempotencyMemory from "../store/idempotency/IdempotencyMemory.ts"
export * as IdempotencySql from "../store/idempotency/IdempotencySql.ts"
export * as KeyRepoMemory from "../store/keys/KeyRepoMemory.ts"
export * as KeyRepoSql from "../store/keys/KeyRepoSql.ts"
export * as LedgerMemory from "../store/ledger/Memory.ts"
export * as LedgerSql from "../store/ledger/Sql.ts"
export * as LimitsMemory from "../store/limits/LimitsMemory.ts"
export * as LimitsRedis from "../store/limits/LimitsRedis.ts"
export * as OutageMemory from "../store/outages/OutageMemory.ts"
export * as OutageSql from "../store/outages/OutageSql.ts"
export * as ChallengesMemory from "../store/people/ChallengesMemory.ts"
export * as ChallengesSql from "../store/people/ChallengesSql.ts"
export * as SessionsMemory from "../store/people/SessionsMemory.ts"
export * as SessionsSql from "../store/people/SessionsSql.ts"
export * as UsersMemory from "../store/people/UsersMemory.ts"
export * as UsersSql from "../store/people/UsersSql.ts"
export * as ConversationMemory from "../store/providerState/ConversationMemory.ts"
export * as ConversationRedis from "../store/providerState/ConversationRedis.ts"
export * as LockoutMemory from "../store/providerState/LockoutMemory.ts"
export * as LockoutRedis from "../store/providerState/LockoutRedis.ts"
export * as StatsMemory from "../store/providerState/StatsMemory.ts"
export * as StatsRedis from "../store/providerState/StatsRedis.ts"
export * as RefusalMemory from "../store/refusals/RefusalMemory.ts"
export * as RefusalSql from "../store/refusals/RefusalSql.ts"
export * as ResponsesMemory from "../store/responses/ResponsesMemory.ts"
export * as ResponsesSql from "../store/responses/ResponsesSql.ts"
export * as SecretStoreFiles from "../store/secrets/SecretStoreFiles.ts"
export * as SecretStoreMemory from "../store/secrets/SecretStoreMemory.ts"
export * as SecretStoreSql from "../store/secrets/SecretStoreSql.ts"
export * as DeadLetterMemory from "../store/webhooks/DeadLetterMemory.ts"
export * as DeadLetterSql from "../store/webhooks/DeadLetterSql.ts"
