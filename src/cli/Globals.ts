/** The flags that every command accepts, anywhere on the command line. */
import { Flag, GlobalFlag } from "effect/cli"
import { switchFlag } from "./Flags.ts"

export const Url = GlobalFlag.Setting("url")({
  flag: Flag.String("url").pipe(
    Flag.withMetavar("<address>"),
    Flag.withDescription("The gateway's address. Default: TOLLGATE_URL, then http://127.0.0.1:8787"),
    Flag.optional
  )
})

export const ApiKey = GlobalFlag.Setting("key")({
  flag: Flag.Redacted("key").pipe(
    Flag.withMetavar("<api key>"),
    Flag.withDescription("Default: TOLLGATE_API_KEY, then the first API key in the data directory"),
    Flag.optional
  )
})

export const AdminKey = GlobalFlag.Setting("admin-key")({
  flag: Flag.Redacted("admin-key").pipe(
    Flag.withMetavar("<admin key>"),
    Flag.withDescription("Default: TOLLGATE_ADMIN_KEY, then the admin key in the data directory"),
    Flag.optional
  )
})

export const DataDir = GlobalFlag.Setting("data-dir")({
  flag: Flag.String("data-dir").pipe(
    Flag.withMetavar("<directory>"),
    Flag.withDescription("The gateway's data directory. Default: TOLLGATE_DATA_DIR, then ./.tollgate"),
    Flag.optional
  )
})

export const Json = GlobalFlag.Setting("json")({
  flag: switchFlag("json", "Print results as JSON on stdout, and errors as JSON on stderr")
})

/** Read before parsing, by Run.ts: help and faults of the line are coloured, too. */
const Color = GlobalFlag.Setting("color")({
  flag: Flag.Boolean("color").pipe(
    Flag.withDescription("Colours, or none with --no-color. Default: NO_COLOR, FORCE_COLOR, then a terminal has them"),
    Flag.optional
  )
})

export const globals = [Url, ApiKey, AdminKey, DataDir, Json, Color] as const
