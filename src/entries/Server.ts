/**
 * The package entry `tollgate/server`: the composition of the gateway, for programs that put it on
 * layers of their own. An entry passes on what is defined elsewhere; only entries do.
 */
export { allScopes } from "../domain/Key.ts"
export { Completion } from "../gateway/chat/Completion.ts"
export { Embeddings } from "../gateway/chat/Embeddings.ts"
export { Circuits } from "../gateway/health/Circuits.ts"
export { ProviderStats } from "../gateway/health/ProviderStats.ts"
export { ApiKeys } from "../gateway/keys/ApiKeys.ts"
export { routes } from "../Routes.ts"
export { gateway, memory, signIn, signInMemory } from "../Server.ts"
export { defaultSettings, Settings, type SettingsShape } from "../Settings.ts"
/** The gateway as `tollgate start` runs it, with the settings of the environment. */
export { gateway as production } from "../Launch.ts"
