/**
 * Logs at the configured level, metrics of the process, telemetry export, and the message of a
 * process that cannot continue.
 */
import { Cause, Context, Console, Effect, Exit, Layer, Logger, type LogLevel, References, Tracer } from "effect"
import { randomUUID } from "node:crypto"
import { messagesOf } from "./domain/Errors.ts"
import { gatedTracer, Tracing } from "./domain/Tracing.ts"
import { loggerOf } from "./observability/Logs.ts"
import { registerProcessMetrics } from "./observability/ProcessMetrics.ts"
import { Settings, type SettingsShape } from "./Settings.ts"

const levels: Readonly<Record<SettingsShape["logLevel"], LogLevel.LogLevel>> = {
  trace: "Trace",
  debug: "Debug",
  info: "Info",
  warn: "Warn",
  error: "Error",
  none: "None"
}

export const layer = Layer.unwrap(
  Effect.map(Settings, (settings) =>
    Layer.mergeAll(
      Logger.layer([loggerOf(settings)]),
      Layer.succeed(References.MinimumLogLevel, levels[settings.logLevel]),
      Layer.effectDiscard(registerProcessMetrics),
      telemetry(settings.telemetry)
    )
  )
)

/** Export to a collector. Modules of disabled signals are not loaded. */
const telemetry = (settings: SettingsShape["telemetry"]) => {
  const { metrics, traces } = settings
  // Identifies this process among others of the service.
  const instanceId = randomUUID()
  return Layer.mergeAll(
    traces === null
      ? Layer.succeed(Tracer.Tracer, gatedTracer(null))
      : Layer.effectContext(
          Effect.promise(() => import("./observability/Traces.ts")).pipe(
            Effect.flatMap(({ makeTracing }) => makeTracing(settings, instanceId, traces)),
            Effect.map(({ tracer, tracing }) => Context.make(Tracing, tracing).pipe(Context.add(Tracer.Tracer, tracer)))
          )
        ),
    metrics === null
      ? Layer.empty
      : Layer.effectDiscard(
          Effect.flatMap(
            Effect.promise(() => import("./observability/MetricsExport.ts")),
            ({ exportMetrics }) => exportMetrics(settings, instanceId, metrics)
          )
        )
  )
}

/** The exit code: 0 if the process was stopped and ended cleanly. */
export const teardown = <E, A>(exit: Exit.Exit<A, E>, onExit: (code: number) => void): void =>
  onExit(Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause) ? 0 : 1)

/**
 * Prints on stderr why the process ends: for an expected failure its message, for a bug the full
 * cause.
 */
export const reportFailure = <A, E extends Error, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.tapCause(self, (cause) => {
    if (Cause.hasInterruptsOnly(cause)) return Effect.void
    const expected = cause.reasons.find((reason) => reason._tag === "Fail")?.error
    return Console.error(
      `tollgate cannot continue: ${expected === undefined ? Cause.pretty(cause) : messagesOf(expected).join(": ")}`
    )
  })
