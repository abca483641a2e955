/** What the process says of itself: logs, pretty on a terminal and one JSON object a line elsewhere, from the level that is set. */
import { Effect, Layer, Logger, type LogLevel, References } from "effect"
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
  Effect.map(Settings, ({ logFormat, logLevel }) =>
    Layer.mergeAll(
      Logger.layer([logFormat === "pretty" ? Logger.consolePretty() : Logger.consoleJson]),
      Layer.succeed(References.MinimumLogLevel, levels[logLevel])
    )
  )
)
