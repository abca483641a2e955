/**
 * Loads undici when the first connection is made. It has a hundred modules, and a gateway without
 * real providers does not need it.
 */
import { createRequire } from "node:module"
import type * as Undici from "undici"

const require = createRequire(import.meta.url)

export const undici = (): typeof Undici => require("undici")
