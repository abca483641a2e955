/** The routes of the gateway: every endpoint with its middleware, the API page and the console. */
import { Layer, type Redacted } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { BuiltApi } from "./api/Api.ts"
import * as AdminRoutes from "./http/endpoints/admin/Admin.ts"
import * as AdminSettingsRoutes from "./http/endpoints/admin/AdminSettings.ts"
import * as AuditRoutes from "./http/endpoints/admin/Audit.ts"
import * as AuthRoutes from "./http/endpoints/Auth.ts"
import * as Authorization from "./http/auth/Authorization.ts"
import { BodyReader } from "./http/body/Body.ts"
import * as ChatRoutes from "./http/endpoints/Chat.ts"
import * as Console from "./http/assets/Console.ts"
import * as Docs from "./http/assets/Docs.ts"
import * as Edge from "./http/edge/Edge.ts"
import * as EmbeddingRoutes from "./http/endpoints/Embeddings.ts"
import * as GenerationRoutes from "./http/endpoints/Generations.ts"
import * as HealthRoutes from "./http/endpoints/Health.ts"
import * as KeyRoutes from "./http/endpoints/Keys.ts"
import * as MeRoutes from "./http/endpoints/Me.ts"
import * as MessageRoutes from "./http/endpoints/Messages.ts"
import * as MetricsRoutes from "./http/endpoints/Metrics.ts"
import * as ModelRoutes from "./http/endpoints/Models.ts"
import * as ProviderRoutes from "./http/endpoints/admin/Providers.ts"
import * as ProviderSetupRoutes from "./http/endpoints/admin/ProviderSetup.ts"
import * as PrivacyRoutes from "./http/endpoints/Privacy.ts"
import * as PortalRoutes from "./http/endpoints/Portal.ts"
import * as RequestRoutes from "./http/endpoints/Requests.ts"
import * as ResponseRoutes from "./http/endpoints/Responses.ts"
import * as RouteRoutes from "./http/endpoints/Route.ts"
import * as SeriesRoutes from "./http/endpoints/Series.ts"
import * as SignInMethodRoutes from "./http/endpoints/SignInMethods.ts"
import * as UsageRoutes from "./http/endpoints/Usage.ts"
import * as UserRoutes from "./http/endpoints/admin/Users.ts"
import * as WebhookRoutes from "./http/endpoints/admin/Webhooks.ts"
import * as Validation from "./http/body/Validation.ts"
import { sectionsOf, variablesOf } from "./settings/FileForm.ts"
import { type SettingsShape } from "./Settings.ts"

/** All routes with their middleware. Needs the gateway, sign-in and a router. */
export const routes = (settings: SettingsShape, adminKey: Redacted.Redacted) =>
  Layer.mergeAll(
    HttpApiBuilder.layer(BuiltApi),
    ChatRoutes.layer(settings.server),
    MessageRoutes.layer(settings.server),
    ResponseRoutes.layer(settings.server),
    EmbeddingRoutes.layer,
    Docs.layer,
    Console.layer(),
    Edge.layer({ ...settings.auth, ...settings.server })
  ).pipe(
    Layer.provide(
      Layer.mergeAll(
        RouteRoutes.layer,
        ModelRoutes.layers,
        ProviderRoutes.layer,
        ProviderSetupRoutes.layer,
        PrivacyRoutes.layer,
        GenerationRoutes.layers,
        RequestRoutes.layers,
        AuditRoutes.layer,
        ResponseRoutes.layerStored(settings.server),
        UsageRoutes.layers,
        KeyRoutes.layers,
        AdminRoutes.layer,
        AdminSettingsRoutes.layer({
          file: settings.origin?.file ?? null,
          sections: sectionsOf(settings),
          variables: variablesOf(settings),
          sources: Object.fromEntries([
            ...(settings.origin?.members ?? []).map((member) => [member, "file" as const]),
            ...(settings.origin?.variables ?? []).map((name) => [name, "environment" as const])
          ])
        }),
        SeriesRoutes.layer,
        AuthRoutes.layer(settings.auth, adminKey),
        MeRoutes.layer,
        PortalRoutes.layer,
        UserRoutes.layer,
        MetricsRoutes.layer,
        SignInMethodRoutes.layer,
        WebhookRoutes.layer,
        HealthRoutes.layer
      )
    ),
    Layer.provide(Layer.merge(Authorization.layers(adminKey), Validation.layer)),
    Layer.provide(BodyReader.layer(settings))
  )
