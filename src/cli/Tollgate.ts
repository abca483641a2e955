/** The `tollgate` command with its subcommands. */
import { Command } from "effect/cli"
import { admin } from "./admin/Admin.ts"
import { audit } from "./admin/Audit.ts"
import { keys } from "./admin/Keys.ts"
import { prices } from "./prices/Prices.ts"
import { providers } from "./admin/Providers.ts"
import { users } from "./admin/Users.ts"
import { webhooks } from "./admin/Webhooks.ts"
import { chat } from "./chat/Chat.ts"
import { check } from "./Check.ts"
import { doctor } from "./doctor/Doctor.ts"
import { globals } from "./Globals.ts"
import { help } from "./Help.ts"
import { models } from "./Models.ts"
import { generations } from "./requests/Generations.ts"
import { logs } from "./requests/Logs.ts"
import { receipt } from "./requests/Receipt.ts"
import { route } from "./Route.ts"
import { setup } from "./Setup.ts"
import { start } from "./Start.ts"
import { upgrade } from "./upgrade/Upgrade.ts"
import { key, usage } from "./Usage.ts"

export const tollgate = Command.make("tollgate").pipe(
  Command.withDescription(
    "The gateway's command line: runs a gateway, checks it, and sends requests to a running one."
  ),
  Command.withSubcommands([
    { group: "Run a gateway", commands: [start, check, doctor, upgrade, prices] },
    { group: "Use it with an API key", commands: [chat, models, route, setup, key] },
    { group: "See what happened, of all keys or of your own", commands: [generations, receipt, logs, usage] },
    { group: "Administer it with the admin key", commands: [keys, users, admin, providers, audit, webhooks] },
    { group: "Help", commands: [help] }
  ]),
  Command.withGlobalFlags(globals)
)
