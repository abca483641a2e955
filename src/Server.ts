/**
 * The composition of the gateway, the same in every mode; Start.ts brings the stores. `gateway` and `routes` are the parts that a test or
 * another program puts on layers of its own. On SIGHUP the settings file is read again and the gateway's services are built
 * anew, while stores, circuits, statistics and the port stay.
 */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Context, Effect, Layer, type Redacted, Scope } from "effect"
import { HttpMiddleware, HttpRouter, HttpServer } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { createServer } from "node:http"
import { BuiltApi } from "./api/Api.ts"
import { Ids } from "./domain/Ids.ts"
import { AccessTokens } from "./gateway/AccessTokens.ts"
import { Accounts } from "./gateway/Accounts.ts"
import { Admission } from "./gateway/Admission.ts"
import { Arrivals } from "./gateway/Arrivals.ts"
import * as BudgetAlerts from "./gateway/BudgetAlerts.ts"
import { Cache } from "./gateway/Cache.ts"
import { Catalog } from "./gateway/Catalog.ts"
import * as CircuitEvents from "./gateway/CircuitEvents.ts"
import { Circuits } from "./gateway/Circuits.ts"
import { Closing } from "./gateway/Closing.ts"
import { CodeMailbox } from "./gateway/CodeMailbox.ts"
import { CodeSignIn } from "./gateway/CodeSignIn.ts"
import { Completion } from "./gateway/Completion.ts"
import { DeadLetters } from "./gateway/DeadLetters.ts"
import { Embeddings } from "./gateway/Embeddings.ts"
import { Generations } from "./gateway/Generations.ts"
import { Health } from "./gateway/Health.ts"
import { Idempotency } from "./gateway/Idempotency.ts"
import * as LateEndings from "./gateway/LateEndings.ts"
import { Lifecycle } from "./gateway/Lifecycle.ts"
import { Instruments } from "./gateway/Instruments.ts"
import { Load } from "./gateway/Load.ts"
import { LoopDelay } from "./gateway/LoopDelay.ts"
import { Intake } from "./gateway/Intake.ts"
import { Members } from "./gateway/Members.ts"
import { Meter } from "./gateway/Meter.ts"
import { OAuthSignIn } from "./gateway/OAuthSignIn.ts"
import { Overview } from "./gateway/Overview.ts"
import { Pepper } from "./gateway/Pepper.ts"
import { Policy } from "./gateway/Policy.ts"
import { Privacy } from "./gateway/Privacy.ts"
import { Portal } from "./gateway/Portal.ts"
import { ProviderStats } from "./gateway/ProviderStats.ts"
import * as Readings from "./gateway/Readings.ts"
import { RoutePreview } from "./gateway/RoutePreview.ts"
import { Router } from "./gateway/Router.ts"
import { Series } from "./gateway/Series.ts"
import { SessionTokens } from "./gateway/SessionTokens.ts"
import { SigningKeys } from "./gateway/SigningKeys.ts"
import { SignInLimits } from "./gateway/SignInLimits.ts"
import { SignInWays } from "./gateway/SignInWays.ts"
import { SignInSweeper } from "./gateway/SignInSweeper.ts"
import { TextCounts } from "./gateway/TextCounts.ts"
import { loadTables } from "./gateway/Tokens.ts"
import { Traffic } from "./gateway/Traffic.ts"
import * as Upkeep from "./gateway/Upkeep.ts"
import { UsageReports } from "./gateway/UsageReports.ts"
import * as AdminRoutes from "./http/Admin.ts"
import * as AdminSettingsRoutes from "./http/AdminSettings.ts"
import * as AuthRoutes from "./http/Auth.ts"
import * as Authorization from "./http/Authorization.ts"
import { Bodies } from "./http/Body.ts"
import * as ChatRoutes from "./http/Chat.ts"
import * as Console from "./http/Console.ts"
import * as Docs from "./http/Docs.ts"
import * as Edge from "./http/Edge.ts"
import * as EmbeddingRoutes from "./http/Embeddings.ts"
import * as GenerationRoutes from "./http/Generations.ts"
import * as HealthRoutes from "./http/Health.ts"
import * as KeyRoutes from "./http/Keys.ts"
import { Listener } from "./http/Listener.ts"
import * as MeRoutes from "./http/Me.ts"
import * as MetricsRoutes from "./http/Metrics.ts"
import * as ModelRoutes from "./http/Models.ts"
import * as PrivacyRoutes from "./http/Privacy.ts"
import * as PortalRoutes from "./http/Portal.ts"
import * as RouteRoutes from "./http/Route.ts"
import * as SeriesRoutes from "./http/Series.ts"
import * as SignInMethodRoutes from "./http/SignInMethods.ts"
import * as Swappable from "./http/Swappable.ts"
import * as UsageRoutes from "./http/Usage.ts"
import * as UserRoutes from "./http/Users.ts"
import * as WebhookRoutes from "./http/Webhooks.ts"
import * as Validation from "./http/Validation.ts"
import { Delivery } from "./identity/Delivery.ts"
import { IdentityProviders } from "./identity/IdentityProviders.ts"
import { Outbound } from "./providers/Outbound.ts"
import { Providers } from "./providers/Providers.ts"
import { Transport } from "./providers/Transport.ts"
import { Settings, type SettingsShape } from "./Settings.ts"
import { reloaded } from "./settings/Reloaded.ts"
import { Challenges } from "./store/Challenges.ts"
import { IdempotencyStore } from "./store/IdempotencyStore.ts"
import { Sessions } from "./store/Sessions.ts"
import { Users } from "./store/Users.ts"
import { Notices } from "./store/Notices.ts"
import { Vault } from "./store/Vault.ts"
import * as Webhooks from "./webhooks/Webhooks.ts"
import { type AdminKey, makeFirstKey, welcome } from "./Welcome.ts"

/** The gateway's services, on stores and providers of the caller's choice. */
export const gateway = (settings: SettingsShape) =>
  Layer.mergeAll(
    Completion.layer(settings.routing),
    Embeddings.layer,
    RoutePreview.layer(settings.routing),
    Overview.layer,
    UsageReports.layer,
    Series.layer,
    DeadLetters.layer,
    Readings.layer
  ).pipe(
    Layer.provideMerge(Layer.mergeAll(Privacy.layer(settings.privacy), Admission.layer)),
    Layer.provideMerge(
      Layer.mergeAll(
        Closing.layer,
        Idempotency.layer({ ...settings.idempotency, ...settings.ledger }),
        Policy.layer,
        Router.layer({ ...settings.routing, markup: settings.markup })
      )
    ),
    Layer.provideMerge(
      Layer.mergeAll(
        Intake.layer(settings.routing),
        Meter.layer(settings),
        Cache.layer(settings.cache),
        Health.layer(settings.server),
        Accounts.layer(settings),
        Generations.layer(settings.generations)
      )
    ),
    Layer.provideMerge(Layer.mergeAll(Catalog.layer, TextCounts.layer))
  )

/** What the gateway remembers of its providers and of itself; it outlives a reload. */
const recollection = Layer.mergeAll(
  Layer.provideMerge(Instruments.layer, Traffic.layer),
  Lifecycle.layer,
  Layer.provideMerge(Load.layer, LoopDelay.layer)
)

/** The same with circuits, figures and kept replies of this process alone. */
export const memory = Layer.mergeAll(
  recollection,
  Circuits.layerMemory,
  ProviderStats.layer,
  IdempotencyStore.layerMemory,
  Notices.layerMemory
)

/** Who signs in, and what becomes of it. Needs the gateway with its stores, `Outbound`, and those of users, sessions, challenges and secrets. */
export const signIn = (settings: Pick<SettingsShape, "auth" | "environment">) => {
  const { auth } = settings
  const issuer = auth.issuer ?? "tollgate"
  return Layer.mergeAll(CodeSignIn.layer(auth), OAuthSignIn.layer(auth), CodeMailbox.layer, Portal.layer).pipe(
    Layer.provideMerge(Members.layer),
    Layer.provideMerge(Layer.mergeAll(SessionTokens.layer(auth), SignInLimits.layer, Arrivals.layer(auth))),
    Layer.provideMerge(AccessTokens.layer({ issuer, lifetimeSeconds: auth.accessTokenSeconds })),
    Layer.provideMerge(SignInWays.layer),
    Layer.provideMerge(Layer.mergeAll(SigningKeys.layer, Pepper.layer)),
    Layer.provideMerge(Layer.mergeAll(Delivery.layer(settings), IdentityProviders.layer(auth.oauth)))
  )
}

/** What `signIn` stands on beside the gateway's stores, forgotten with the process. */
export const signInMemory = Layer.mergeAll(
  Users.layerMemory,
  Sessions.layerMemory,
  Challenges.layerMemory,
  Vault.layerMemory,
  Outbound.layer
)

/** Every route, with its middleware and the edge around all. Needs the gateway's services, those of signing in, and a router. */
export const routes = (settings: SettingsShape, adminKey: Redacted.Redacted) =>
  Layer.mergeAll(
    HttpApiBuilder.layer(BuiltApi),
    ChatRoutes.layer(settings.server),
    EmbeddingRoutes.layer,
    Docs.layer,
    Console.layer(),
    Edge.layer({ ...settings.auth, ...settings.server })
  ).pipe(
    Layer.provide(
      Layer.mergeAll(
        RouteRoutes.layer,
        ModelRoutes.layer,
        PrivacyRoutes.layer,
        ModelRoutes.layerAdmin,
        GenerationRoutes.layer,
        GenerationRoutes.layerAdmin,
        UsageRoutes.layer,
        UsageRoutes.layerAdmin,
        GenerationRoutes.layerOwned,
        KeyRoutes.layer,
        KeyRoutes.layerOwn,
        AdminRoutes.layer,
        AdminSettingsRoutes.layer(settings),
        SeriesRoutes.layer,
        AuthRoutes.layer(settings.auth),
        MeRoutes.layer,
        PortalRoutes.layer,
        UserRoutes.layer,
        MetricsRoutes.layer,
        SignInMethodRoutes.layer,
        WebhookRoutes.layer,
        HealthRoutes.layer
      )
    ),
    Layer.provide(
      Layer.mergeAll(
        Authorization.layer(settings.auth.trustedProxies),
        Authorization.layerSession(settings.auth.trustedProxies),
        Authorization.layerAdmin(adminKey, settings.auth.trustedProxies),
        Validation.layer
      )
    ),
    Layer.provide(Bodies.layer(settings))
  )

/** The whole application for one reading of the settings. */
const application = (settings: SettingsShape, admin: AdminKey) =>
  HttpRouter.toHttpEffect(
    routes(settings, admin.value).pipe(
      Layer.provide(signIn(settings)),
      Layer.provide(gateway(settings)),
      Layer.provide(Providers.layer(settings.providers))
    )
  ).pipe(Effect.provideService(HttpRouter.RouterConfig, Edge.routerConfig))

type Needs = Exclude<Effect.Services<ReturnType<typeof application>>, Scope.Scope>

const serve = Effect.fnUntraced(function* (started: SettingsShape, admin: AdminKey) {
  const { drain } = yield* Lifecycle
  const { letGo } = yield* Listener
  const services = Context.omit(Scope.Scope)(yield* Effect.context<Needs>())
  const build = (settings: SettingsShape) => Effect.provideContext(application(settings, admin), services)
  const { app, swap } = yield* Swappable.make(build(started))
  // The edge makes the span of a request, once it is sampled.
  yield* Effect.provideService(HttpServer.serveEffect(app), HttpMiddleware.TracerDisabledWhen, () => true)
  yield* Effect.addFinalizer(() => Effect.andThen(drain, letGo))
  yield* Swappable.onHangup(
    Effect.gen(function* () {
      yield* swap(build(reloaded(started, yield* Settings.reload)))
      yield* Effect.logInfo("the settings file was read again")
    }).pipe(
      Effect.catchTag("SettingsError", (error) =>
        Effect.logError(`the settings file was not taken over, the running settings stay: ${error.message}`)
      )
    )
  )
})

/** Who hears of events; without webhooks nobody, and nothing looks for any. */
const listeners = (settings: SettingsShape) =>
  settings.webhooks.length === 0
    ? Layer.empty
    : Layer.mergeAll(BudgetAlerts.layer, CircuitEvents.layer).pipe(
        Layer.provideMerge(Webhooks.layer(settings.webhooks))
      )

/** `TOLLGATE_ADMIN_PORT`: what only operators may reach. */
const operatorsPort = (settings: SettingsShape) =>
  settings.adminPort === null
    ? Layer.empty
    : Layer.effectDiscard(Effect.andThen(HttpServer.serveEffect(MetricsRoutes.open), saysItsAddress)).pipe(
        Layer.provide(NodeHttpServer.layer(() => createServer(), { host: settings.host, port: settings.adminPort }))
      )

const saysItsAddress = Effect.flatMap(HttpServer.HttpServer, ({ address }) =>
  Effect.annotateLogs(Effect.logInfo("metrics are open"), { url: `${HttpServer.formatAddress(address)}/metrics` })
)

/** Before anything is served. */
const firstKeyMade = (settings: SettingsShape) =>
  Layer.provide(Layer.effectDiscard(makeFirstKey(settings)), Accounts.layer(settings))

/** Everything but the stores, and the first words when all of it is up. */
export const serving = (settings: SettingsShape, admin: AdminKey) =>
  Layer.effectDiscard(Effect.andThen(welcome(settings, admin), loadTables)).pipe(
    Layer.provide(
      Layer.mergeAll(
        Accounts.layer(settings),
        Generations.layerReconciler(settings.ledger),
        SignInSweeper.layer,
        Upkeep.layer(settings.generations)
      )
    ),
    Layer.provide(Layer.provide(Layer.effectDiscard(serve(settings, admin)), firstKeyMade(settings))),
    Layer.provide(Listener.layerHttp(settings)),
    Layer.provide(Listener.layer({ ...settings.server, graceMs: settings.shutdownGraceMs })),
    Layer.provide(
      Layer.mergeAll(operatorsPort(settings), Instruments.layerRefreshing(settings.telemetry), listeners(settings))
    ),
    Layer.provide(Layer.mergeAll(Ids.layer, Transport.layer, Outbound.layer, LateEndings.layer(settings))),
    Layer.provide(recollection)
  )
