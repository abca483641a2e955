/** The process of a gateway: launched until a signal; nothing else. */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { gateway } from "./Launch.ts"
import * as Observability from "./Observability.ts"

NodeRuntime.runMain(gateway, { disableErrorReporting: true, teardown: Observability.teardown })
