/** The models of the gateway, as the session may see them. */
import { type ModelEntry } from "../../api/Models.ts"
import { call } from "../client.ts"
import { type Source } from "../keys/source.ts"
import { useLoad } from "../useLoad.ts"

export type Model = typeof ModelEntry.Type

export const useModels = ({ isOwn }: Source) =>
  useLoad(
    "catalogue",
    async (signal) =>
      (
        await call<{ readonly data: ReadonlyArray<Model> }>(isOwn ? "/v1/portal/models" : "/v1/admin/models", {
          signal
        })
      ).data,
    { everyMs: 15_000 }
  )

/** The shortest median of its providers: to the first token of streams, or of whole answers. */
export const latencyOf = ({ providers }: Model): number | null => {
  const medians = providers.flatMap(({ latency_ms }) => latency_ms?.p50 ?? [])
  return medians.length === 0 ? null : Math.min(...medians)
}

export const isChat = ({ architecture }: Model): boolean => architecture.output_modalities.includes("text")
