/** `server` of the settings file: what one process takes on, and when it says that it is at its limit. */
import { Result, Schema } from "effect"
import { decodeAt, type Faults, type Place } from "./Faults.ts"
import { choice, integer } from "./Forms.ts"

export interface ServerSettings {
  /** `strict-transport-security`: `auto` sends it where a trusted proxy says that the client came by https. */
  readonly hsts: "auto" | "always" | "never"
  /** More connections are closed at once. */
  readonly maxConnections: number
  /** Model requests under way, from which on new ones are refused. */
  readonly maxRequests: number
  /** Bytes of the bodies of requests under way, all together. `null`: a quarter of the memory that JavaScript may use. */
  readonly maxBodiesBytes: number | null
  /** How late the event loop may be for a second and a half, until new model requests are refused. */
  readonly maxLoopDelayMs: number
  /** How long a client may take nothing of an answer, until its connection is cut. */
  readonly stalledReaderMs: number
}

export const defaultServer: ServerSettings = {
  hsts: "auto",
  maxConnections: 20_000,
  maxRequests: 10_000,
  maxBodiesBytes: null,
  maxLoopDelayMs: 1_000,
  stalledReaderMs: 60_000
}

const milliseconds = (from: number) => integer(`milliseconds, from ${from} to 3600000`, from, 3_600_000)

const ServerSection = Schema.Struct({
  hsts: Schema.optionalKey(choice(["auto", "always", "never"])),
  max_connections: Schema.optionalKey(integer("a whole number of connections from 1 to 1000000", 1, 1_000_000)),
  max_requests: Schema.optionalKey(integer("a whole number of requests from 1 to 1000000", 1, 1_000_000)),
  max_bodies_bytes: Schema.optionalKey(
    integer("a whole number of bytes from 1048576 to 68719476736", 1_048_576, 68_719_476_736)
  ),
  max_loop_delay_ms: Schema.optionalKey(milliseconds(10)),
  stalled_reader_ms: Schema.optionalKey(milliseconds(100))
})

export const decodeServer = (place: Place): Result.Result<ServerSettings, Faults> =>
  Result.map(decodeAt(ServerSection, place), (section) => ({
    hsts: section.hsts ?? defaultServer.hsts,
    maxConnections: section.max_connections ?? defaultServer.maxConnections,
    maxRequests: section.max_requests ?? defaultServer.maxRequests,
    maxBodiesBytes: section.max_bodies_bytes ?? defaultServer.maxBodiesBytes,
    maxLoopDelayMs: section.max_loop_delay_ms ?? defaultServer.maxLoopDelayMs,
    stalledReaderMs: section.stalled_reader_ms ?? defaultServer.stalledReaderMs
  }))
