/** The providers of this deployment, by slug. */
import { Context } from "effect"
import { type Provider } from "./Provider.ts"

export class Providers extends Context.Service<
  Providers,
  {
    readonly get: (slug: string) => Provider | undefined
    /** In the order of the settings. */
    readonly all: ReadonlyArray<Provider>
  }
>()("tollgate/providers/Providers") {}
