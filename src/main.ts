/** The process of a gateway: launched until a signal; nothing else. The embedded database opens while the program is being loaded. */
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
