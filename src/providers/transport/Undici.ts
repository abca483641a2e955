/** undici, loaded when the first connection is made: it has a hundred modules, and a gateway without real providers starts without them. */
import { createRequire } from "node:module"
import type * as Undici from "undici"

const require = createRequire(import.meta.url)

export const undici = (): typeof Undici => require("undici")
