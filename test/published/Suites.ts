/**
 * The package entry `tollgate/testing/suites`: the tests that a layer of a port has to pass, for
 * Vitest with `@effect/vitest`. An entry passes on what is defined elsewhere; only entries do.
 */
export { sentAlertsSuite } from "../store/alerts/sentAlertsSuite.ts"
export { auditSuite } from "../store/audit/auditSuite.ts"
export { cacheStoreSuite } from "../store/cache/cacheStoreSuite.ts"
export { idempotencySuite } from "../store/idempotency/idempotencySuite.ts"
export { keyRepoSuite } from "../store/keys/keyRepoSuite.ts"
export { Audit } from "../store/ledger/LedgerAudit.ts"
export { ledgerSuite, overviewSuite } from "../store/ledger/ledgerSuite.ts"
export { limitsSuite } from "../store/limits/limitsSuite.ts"
export { outageSuite } from "../store/outages/outageSuite.ts"
export { challengesSuite } from "../store/people/challengesSuite.ts"
export { sessionsSuite } from "../store/people/sessionsSuite.ts"
export { usersSuite } from "../store/people/usersSuite.ts"
export { conversationStoreSuite } from "../store/providerState/conversationStoreSuite.ts"
export { lockoutStoreSuite } from "../store/providerState/lockoutStoreSuite.ts"
export { statsStoreSuite } from "../store/providerState/statsStoreSuite.ts"
export { refusalSuite } from "../store/refusals/refusalSuite.ts"
export { responseStoreSuite } from "../store/responses/responseStoreSuite.ts"
export { deadLetterSuite } from "../store/webhooks/deadLetterSuite.ts"
