/** The process of one command line: arguments, run, exit code. */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Stdio } from "effect"
import { exitCodeOf } from "./Failure.ts"
import { run } from "./Run.ts"

/** Stopping a gateway is a success; stopping a command is not. */
const isGateway = process.argv[2] === "start"

Stdio.Stdio.use(({ args }) => Effect.flatMap(args, run)).pipe(
  // @effect-diagnostics-next-line strictEffectProvide:off -- this is where effects end: there is no program around it
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain({ disableErrorReporting: true, teardown: (exit, onExit) => onExit(exitCodeOf(exit, isGateway)) })
)
