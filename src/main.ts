/**
 * The process of a gateway: launches it and runs until a signal. The embedded database opens while
 * the program is loading.
 */
import { rememberModules } from "./ModuleLookup.ts"
import { embeddedDataDir } from "./settings/DataDir.ts"
import { openAhead } from "./store/embedded/OpenAhead.ts"

rememberModules()
const dataDir = embeddedDataDir()

void (dataDir === null ? Promise.resolve() : openAhead(dataDir))
  .then(() =>
    Promise.all([import("@effect/platform-node/NodeRuntime"), import("./Launch.ts"), import("./Observability.ts")])
  )
  .then(([NodeRuntime, { gateway }, { teardown }]) =>
    NodeRuntime.runMain(gateway, { disableErrorReporting: true, teardown })
  )
