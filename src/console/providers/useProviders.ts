/** The providers, read again every 5 s. */
import { type ProviderRecord } from "../../api/Providers.ts"
import { call } from "../client.ts"
import { useLoad } from "../useLoad.ts"

export const useProviders = () =>
  useLoad(
    "providers",
    (signal) => call<{ readonly data: ReadonlyArray<ProviderRecord> }>("/v1/admin/providers", { signal }),
    { everyMs: 5_000 }
  )

export type ListedProviders = ReturnType<typeof useProviders>
