/**
 * The whole contract: every group of endpoints. It imports no server code, so clients can import
 * it.
 */
import { HttpApi, OpenApi } from "effect/http-api"
import { AdminGroup } from "./Admin.ts"
import { AdminSettingsGroup } from "./AdminSettings.ts"
import { AdminAuditGroup } from "./Audit.ts"
import { AuthGroup, MeGroup } from "./signin/Auth.ts"
import { ChatGroup } from "./Chat.ts"
import { EmbeddingsGroup } from "./Embeddings.ts"
import { AdminRequestsGroup, OwnedRequestsGroup } from "./Requests.ts"
import { AdminGenerationsGroup, GenerationsGroup, OwnedGenerationsGroup } from "./Generations.ts"
import { HealthGroup } from "./Health.ts"
import { KeysGroup, OwnKeyGroup } from "./Keys.ts"
import { MessagesGroup } from "./Messages.ts"
import { MetricsGroup } from "./Metrics.ts"
import { AdminModelsGroup, ModelsGroup, OwnedModelsGroup } from "./Models.ts"
import { PrivacyGroup } from "./Privacy.ts"
import { AdminProvidersGroup } from "./Providers.ts"
import { AdminProviderSetupGroup } from "./ProviderSetup.ts"
import { PortalGroup } from "./signin/Portal.ts"
import { ResponsesGroup, StoredResponsesGroup } from "./Responses.ts"
import { RouteGroup } from "./Route.ts"
import { SeriesGroup } from "./Series.ts"
import { AdminUsageGroup, UsageGroup } from "./Usage.ts"
import { UsersGroup } from "./signin/Users.ts"
import { SignInMethodsGroup } from "./signin/SignInMethods.ts"
import { strict } from "./schemas/Strictness.ts"
import { version } from "./Version.ts"
import { AdminWebhooksGroup } from "./Webhooks.ts"

/** All faults of a request are reported, not just the first. */
export const parseOptions = { errors: "all" } as const

/** The endpoints that HttpApiBuilder serves. */
export class BuiltApi extends HttpApi.make("tollgate")
  .add(RouteGroup)
  .add(ModelsGroup)
  .add(StoredResponsesGroup)
  .add(GenerationsGroup)
  .add(UsageGroup)
  .add(KeysGroup)
  .add(OwnKeyGroup)
  .add(PrivacyGroup)
  .add(AdminGroup)
  .add(SeriesGroup)
  .add(AdminGenerationsGroup)
  .add(AdminRequestsGroup)
  .add(AdminAuditGroup)
  .add(AdminUsageGroup)
  .add(OwnedGenerationsGroup)
  .add(OwnedRequestsGroup)
  .add(AdminModelsGroup)
  .add(OwnedModelsGroup)
  .add(AdminProvidersGroup)
  .add(AdminProviderSetupGroup)
  .add(AdminSettingsGroup)
  .add(AdminWebhooksGroup)
  .add(AuthGroup)
  .add(SignInMethodsGroup)
  .add(MeGroup)
  .add(PortalGroup)
  .add(UsersGroup)
  .add(MetricsGroup)
  .add(HealthGroup)
  .annotate(HttpApi.ParseOptions, parseOptions)
  .annotate(HttpApi.PayloadParseOptions, strict) {}

/**
 * All endpoints. Chat, messages, responses and embeddings are served by
 * http/edge/AuthenticatedPost, from the same definitions.
 */
export class Api extends HttpApi.make("tollgate")
  .add(ChatGroup)
  .add(MessagesGroup)
  .add(ResponsesGroup)
  .add(EmbeddingsGroup)
  .addHttpApi(BuiltApi)
  .annotate(HttpApi.ParseOptions, parseOptions)
  .annotate(HttpApi.PayloadParseOptions, strict)
  .annotateMerge(
    OpenApi.annotations({
      title: "tollgate",
      version,
      description:
        "One HTTP API in front of every language-model provider. Chat completions and embeddings in OpenAI's convention; OpenAI's Responses API; Anthropic's Messages API; keys with rate limits, monthly budgets and model whitelists; a prompt cache; routing with fallback; a receipt for every generation. People use the [console](/console)."
    })
  ) {}
