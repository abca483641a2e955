/**
 * An address that the server cannot listen on: which setting names it, what is wrong, and on Linux
 * which process has the port.
 */
import { Data, Result } from "effect"
import { type ServeError } from "effect/http/HttpServerError"
import { readdirSync, readFileSync, readlinkSync } from "node:fs"

/** `setting`: the variable that names the port. */
export interface Address {
  readonly host: string
  readonly port: number
  readonly setting: "TOLLGATE_PORT" | "TOLLGATE_ADMIN_PORT"
}

export class ListenFault extends Data.TaggedError("ListenFault")<Address & { readonly code: string }> {
  override get message(): string {
    const { code, host, port, setting } = this
    switch (code) {
      case "EADDRINUSE": {
        const pid = listenerOf(port)
        const who = pid === null ? "another program" : `process ${pid}`
        return `${who} listens on port ${port} already. Stop it, or set ${setting} to another port`
      }
      case "EACCES":
        return `this user may not listen on port ${port}. Set ${setting} to a port above 1023`
      case "EADDRNOTAVAIL":
      case "ENOTFOUND":
        return `this machine has no address ${host}. Set TOLLGATE_HOST to one of its own, or to 0.0.0.0 for all`
      default:
        return `the server cannot listen on ${host}, port ${port} (${code}). Check TOLLGATE_HOST and ${setting}`
    }
  }
}

export const listenFault =
  (address: Address) =>
  ({ cause }: ServeError): ListenFault => {
    const code = typeof cause === "object" && cause !== null && "code" in cause ? String(cause.code) : String(cause)
    return new ListenFault({ ...address, code })
  }

const readable = <A>(read: () => A, otherwise: A): A => Result.getOrElse(Result.try(read), () => otherwise)

/** The kernel's number of the state LISTEN. */
const LISTENS = "0A"

/** The inodes of the sockets that listen on a port, from the kernel's tables. */
const inodesOf = (port: number): ReadonlySet<string> => {
  const hex = port.toString(16).toUpperCase().padStart(4, "0")
  const rows = ["tcp", "tcp6"].flatMap((table) => {
    const text = readable(() => readFileSync(`/proc/net/${table}`, "utf8"), "")
    return text.split("\n").map((line) => line.trim().split(/\s+/))
  })
  return new Set(
    rows.flatMap(([, local = "", , state, , , , , , inode = ""]) =>
      local.endsWith(`:${hex}`) && state === LISTENS ? [`socket:[${inode}]`] : []
    )
  )
}

/** The process that listens on a port. Null: it is another user's, or this is not Linux. */
const listenerOf = (port: number): number | null => {
  const sockets = inodesOf(port)
  if (sockets.size === 0) return null
  const pids = readable(() => readdirSync("/proc"), []).filter((name) => /^\d+$/.test(name))
  const pid = pids.find((name) =>
    readable(() => readdirSync(`/proc/${name}/fd`), []).some((fd) =>
      sockets.has(readable(() => readlinkSync(`/proc/${name}/fd/${fd}`), ""))
    )
  )
  return pid === undefined ? null : Number(pid)
}
