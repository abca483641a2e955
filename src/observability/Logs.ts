/**
 * Logs: pretty on a terminal, otherwise one JSON object per line. Request lines of one turn of the
 * event loop are written together. Other lines are written immediately, in order. Lines of level
 * Warn and above may quote an error, so they are redacted.
 */
import { Effect, Logger, LogLevel } from "effect"
import { type SettingsShape } from "../Settings.ts"
import { redactor } from "./Redaction.ts"

/** The output: stdout, except in tests. */
export type Write = (text: string) => void

const toStandardOutput: Write = (text) => void process.stdout.write(text)

/** One JSON object per line. Closing the scope writes buffered lines. */
export const jsonLogger = (settings: SettingsShape, write: Write = toStandardOutput) =>
  Effect.gen(function* () {
    const redact = redactor(settings)
    let waiting = ""
    const flush = (): void => {
      if (waiting === "") return
      const text = waiting
      waiting = ""
      write(text)
    }
    yield* Effect.addFinalizer(() => Effect.sync(flush))
    return Logger.make<unknown, void>((options) => {
      const json = Logger.formatJson.log(options)
      const warns = !LogLevel.isGreaterThan("Warn", options.logLevel)
      const line = `${warns ? redact(json) : json}\n`
      if (!warns && isRequest(options.message)) {
        if (waiting === "") setImmediate(flush)
        waiting += line
      } else {
        flush()
        write(line)
      }
    })
  })

const isRequest = (message: unknown): boolean =>
  message === "request" || (Array.isArray(message) && message.length === 1 && message[0] === "request")

export const loggerOf = (settings: SettingsShape) =>
  settings.logFormat === "pretty" ? Effect.succeed(Logger.consolePretty()) : jsonLogger(settings)
