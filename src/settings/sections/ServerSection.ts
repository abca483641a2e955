/**
 * The `server` section of the settings file: what one process accepts, and when it reports
 * overload.
 */
import { Result, Schema } from "effect"
import { decodeAt, type Faults, type Place } from "../Faults.ts"
import { choice, integer } from "../Forms.ts"

export interface ServerSettings {
  /**
   * `strict-transport-security`: `auto` sends it if a trusted proxy reports that the client used
   * https.
   */
  readonly hsts: "auto" | "always" | "never"
  /** Further connections are closed at once. */
  readonly maxConnections: number
  /** With this many model requests running, new ones are rejected. */
  readonly maxRequests: number
  /**
   * Total size of the bodies of running requests, in bytes. `null`: a quarter of the JavaScript
   * heap limit.
   */
  readonly maxBodiesBytes: number | null
  /** Event loop delay, sustained for 1.5 s, above which new model requests are rejected. */
  readonly maxLoopDelayMs: number
  /** Time without progress after which a client that does not read its answer is disconnected. */
  readonly stalledReaderMs: number
  /** `cors.origins` in the file: origins of pages that may use the API. Default: none. */
  readonly corsOrigins?: ReadonlyArray<string>
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
