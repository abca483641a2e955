/**
 * Composes the gateway's layers over the stores of Start.ts. Tests and other programs use
 * `gateway`, and `routes` of Routes.ts, with their own layers. SIGHUP rebuilds the services from
 * the settings file; stores, circuits, statistics and the port stay.
 */
import * as SealedKeyMemory from "./store/secrets/SealedKeyMemory.ts"
import * as SecretStoreMemory from "./store/secrets/SecretStoreMemory.ts"
import * as ConversationMemory from "./store/providerState/ConversationMemory.ts"
import * as ChallengesMemory from "./store/people/ChallengesMemory.ts"
import * as SessionsMemory from "./store/people/SessionsMemory.ts"
import * as UsersMemory from "./store/people/UsersMemory.ts"
import * as IdempotencyMemory from "./store/idempotency/IdempotencyMemory.ts"
import * as ResponsesMemory from "./store/responses/ResponsesMemory.ts"
import { Context, Deferred, Effect, Layer, Queue, Scope } from "effect"
import { HttpMiddleware, HttpRouter, HttpServer } from "effect/http"
import { Ids } from "./domain/Ids.ts"
import { AccessTokens } from "./gateway/signin/AccessTokens.ts"
import { ApiKeys } from "./gateway/keys/ApiKeys.ts"
import { Admission } from "./gateway/chat/Admission.ts"
import { AccountLinking } from "./gateway/signin/AccountLinking.ts"
import * as BudgetAlerts from "./gateway/billing/BudgetAlerts.ts"
import { Cache } from "./gateway/cache/Cache.ts"
import { Catalog } from "./gateway/routing/Catalog.ts"
import * as CircuitEvents from "./gateway/health/CircuitEvents.ts"
import * as CircuitHistory from "./gateway/health/CircuitHistory.ts"
import { Circuits } from "./gateway/health/Circuits.ts"
import { Settlement } from "./gateway/billing/Settlement.ts"
import { CodeMailbox } from "./gateway/signin/CodeMailbox.ts"
import { ConsoleLink } from "./gateway/signin/ConsoleLink.ts"
import { CodeSignIn } from "./gateway/signin/CodeSignIn.ts"
import { Completion } from "./gateway/chat/Completion.ts"
import { WebhookAdmin } from "./gateway/admin/WebhookAdmin.ts"
import { Embeddings } from "./gateway/chat/Embeddings.ts"
import { Generations } from "./gateway/billing/Generations.ts"
import { Health } from "./gateway/admin/Health.ts"
import { Idempotency } from "./gateway/idempotency/Idempotency.ts"
import * as PendingSettlements from "./gateway/billing/PendingSettlements.ts"
import { Lifecycle } from "./gateway/process/Lifecycle.ts"
import { RequestMetrics } from "./gateway/telemetry/RequestMetrics.ts"
import { Load } from "./gateway/process/Load.ts"
import { EventLoopDelay } from "./gateway/process/EventLoopDelay.ts"
import { Planner } from "./gateway/chat/Planner.ts"
import { UserAdmin } from "./gateway/signin/UserAdmin.ts"
import { Meter } from "./gateway/billing/Meter.ts"
import { OAuthSignIn } from "./gateway/signin/OAuthSignIn.ts"
import { Overview } from "./gateway/admin/Overview.ts"
import { HmacKey } from "./gateway/signin/HmacKey.ts"
import { Policy } from "./gateway/chat/Policy.ts"
import { PrivacyGuard } from "./gateway/privacy/PrivacyGuard.ts"
import { PrivacyPreview } from "./gateway/chat/PrivacyPreview.ts"
import { Portal } from "./gateway/signin/Portal.ts"
import { ProviderReports } from "./gateway/admin/ProviderReports.ts"
import { ProviderStats } from "./gateway/health/ProviderStats.ts"
import * as Gauges from "./gateway/telemetry/Gauges.ts"
import { StoredResponses } from "./gateway/responses/StoredResponses.ts"
import { RoutePreview } from "./gateway/chat/RoutePreview.ts"
import { TokenCount } from "./gateway/chat/TokenCount.ts"
import { Names } from "./gateway/admin/Names.ts"
import { Requests } from "./gateway/admin/Requests.ts"
import { Router } from "./gateway/routing/Router.ts"
import { Series } from "./gateway/admin/Series.ts"
import { SessionTokens } from "./gateway/signin/SessionTokens.ts"
import { SigningKeys } from "./gateway/signin/SigningKeys.ts"
import { SignInLimits } from "./gateway/signin/SignInLimits.ts"
import { SignInMethods } from "./gateway/signin/SignInMethods.ts"
import { SignInSweeper } from "./gateway/signin/SignInSweeper.ts"
import { TokenCounter } from "./gateway/tokens/TokenCounter.ts"
import { RefusalLog } from "./gateway/telemetry/RefusalLog.ts"
import { RequestCounters } from "./gateway/telemetry/RequestCounters.ts"
import * as AuditWriter from "./gateway/telemetry/AuditWriter.ts"
import { AuditTrail } from "./gateway/admin/AuditTrail.ts"
import * as Retention from "./gateway/billing/Retention.ts"
import { UsageReports } from "./gateway/billing/UsageReports.ts"
import * as Edge from "./http/edge/Edge.ts"
import { Listener } from "./http/edge/Listener.ts"
import * as OperatorsPort from "./http/edge/OperatorsPort.ts"
import { withRoom } from "./http/edge/RoomyContext.ts"
import * as Swappable from "./http/edge/Swappable.ts"
import { Delivery } from "./identity/Delivery.ts"
import { IdentityProviders } from "./identity/IdentityProviders.ts"
import { Outbound } from "./providers/transport/Outbound.ts"
import { Providers } from "./providers/Providers.ts"
import { Transport } from "./providers/transport/Transport.ts"
import { routes } from "./Routes.ts"
import { type SettingsShape } from "./Settings.ts"
import { differences } from "./settings/Differences.ts"
import { type ReloadReport, SettingsReload } from "./gateway/admin/SettingsReload.ts"
import { ProviderSetup } from "./gateway/admin/ProviderSetup.ts"
import { makeSealedKeys, type SealedKeys } from "./gateway/admin/SealedKeys.ts"
import { makeProviderSetup } from "./setup/ProviderSetup.ts"
import { freshSettings, unsealed } from "./setup/Unsealed.ts"
import * as Workers from "./Workers.ts"
import { reloaded } from "./settings/Reloaded.ts"
import * as SentAlertsMemory from "./store/alerts/SentAlertsMemory.ts"
import * as OutageMemory from "./store/outages/OutageMemory.ts"
import * as RefusalMemory from "./store/refusals/RefusalMemory.ts"
import * as RefusedCredentialMemory from "./store/audit/RefusedCredentialMemory.ts"
import * as AuditMemory from "./store/audit/AuditMemory.ts"
import * as DeadLetterMemory from "./store/webhooks/DeadLetterMemory.ts"
import { DeliveryQueue } from "./store/webhooks/DeliveryQueue.ts"
import * as Webhooks from "./webhooks/Webhooks.ts"
import { type AdminKey, makeFirstKey, startupBanner } from "./StartupBanner.ts"

/** The gateway's services. Needs stores and providers. */
export const gateway = (settings: SettingsShape) =>
  Layer.mergeAll(
    Completion.layer(settings.routing),
    Embeddings.layer,
    RoutePreview.layer(settings.routing),
    TokenCount.layer,
    PrivacyPreview.layer,
    Overview.layer,
    ProviderReports.layer,
    UsageReports.layer,
    Series.layer,
    WebhookAdmin.layer(settings),
    Gauges.layer,
    RefusalLog.layer
  ).pipe(
    Layer.provideMerge(Layer.mergeAll(PrivacyGuard.layer(settings.privacy), Admission.layer)),
    Layer.provideMerge(
      Layer.mergeAll(
        Settlement.layer,
        Idempotency.layer({ ...settings.idempotency, ...settings.ledger }),
        Policy.layer,
        Router.layer(settings.routing)
      )
    ),
    Layer.provideMerge(
      Layer.mergeAll(
        Planner.layer(settings.routing),
        Meter.layer(settings),
        Cache.layer(settings.cache),
        Health.layer(settings.server),
        ApiKeys.layer(settings),
        Generations.layer(settings.generations)
      )
    ),
    Layer.provideMerge(Layer.mergeAll(Catalog.layer, TokenCounter.layer, StoredResponses.layer(settings.responses)))
  )

/** State about providers and the process itself. It survives a reload. */
const recollection = Layer.mergeAll(
  Layer.provideMerge(RequestMetrics.layer, RequestCounters.layer),
  Lifecycle.layer,
  ConsoleLink.layer,
  Layer.provideMerge(Load.layer, EventLoopDelay.layer)
)

/** The same, with circuits, statistics, stored replies and responses in this process only. */
export const memory = Layer.mergeAll(
  recollection,
  Circuits.layerMemory,
  ProviderStats.layer,
  ConversationMemory.layer,
  IdempotencyMemory.layer,
  ResponsesMemory.layer,
  SentAlertsMemory.layer,
  DeadLetterMemory.layer,
  RefusalMemory.layer,
  AuditWriter.layer.pipe(
    Layer.provide(Ids.layer),
    Layer.provideMerge(Layer.merge(AuditMemory.layer, RefusedCredentialMemory.layer))
  ),
  OutageMemory.layer,
  DeliveryQueue.layerMemory()
)

/** Sign-in, and lists that name people. Needs the gateway, `Outbound`, and its stores. */
export const signIn = (settings: Pick<SettingsShape, "auth" | "environment" | "generations">) => {
  const { auth } = settings
  const issuer = auth.issuer ?? "tollgate"
  return Layer.mergeAll(
    CodeSignIn.layer(auth),
    OAuthSignIn.layer(auth),
    CodeMailbox.layer,
    Portal.layer,
    AuditTrail.layer,
    Requests.layer(settings.generations)
  ).pipe(
    Layer.provideMerge(Layer.merge(UserAdmin.layer, Names.layer)),
    Layer.provideMerge(Layer.mergeAll(SessionTokens.layer(auth), SignInLimits.layer, AccountLinking.layer(auth))),
    Layer.provideMerge(AccessTokens.layer({ issuer, lifetimeSeconds: auth.accessTokenSeconds })),
    Layer.provideMerge(SignInMethods.layer),
    Layer.provideMerge(Layer.mergeAll(SigningKeys.layer, HmacKey.layer)),
    Layer.provideMerge(Layer.mergeAll(Delivery.layer(settings), IdentityProviders.layer(auth.oauth)))
  )
}

/** In-memory stores that `signIn` needs in addition to the gateway's. */
export const signInMemory = Layer.mergeAll(
  UsersMemory.layer,
  SessionsMemory.layer,
  ChallengesMemory.layer,
  SecretStoreMemory.layer,
  SealedKeyMemory.layer,
  Outbound.layer
)

/** The whole application, for one set of settings. */
const application = (settings: SettingsShape, admin: AdminKey) =>
  HttpRouter.toHttpEffect(
    routes(settings, admin.value).pipe(
      Layer.provide(signIn(settings)),
      Layer.provide(gateway(settings)),
      Layer.provide(Providers.layer(settings.providers))
    )
  ).pipe(Effect.provideService(HttpRouter.RouterConfig, Edge.routerConfig))

const serve = Effect.fnUntraced(function* (started: SettingsShape, admin: AdminKey, sealedKeys: SealedKeys) {
  const { drain } = yield* Lifecycle
  const { shutdown } = yield* Listener
  const services = Context.omit(Scope.Scope)(yield* Effect.context<Effect.Services<ReturnType<typeof application>>>())
  const asked = yield* Queue.unbounded<Deferred.Deferred<ReloadReport>>()
  const ask = Effect.flatMap(Deferred.make<ReloadReport>(), (asker) =>
    Effect.andThen(Queue.offer(asked, asker), Deferred.await(asker))
  )
  const reloading = Context.add(
    services,
    SettingsReload,
    Effect.tap(ask, ({ isReloaded }) => (isReloaded ? Workers.hangUpOthers : Effect.void))
  )
  const build = (settings: SettingsShape) =>
    makeProviderSetup(settings, sealedKeys).pipe(
      Effect.flatMap((setup) => Effect.provideService(application(settings, admin), ProviderSetup, setup)),
      Effect.provideContext(reloading)
    )
  const { app, swap } = yield* Swappable.make(build(started))
  // The edge makes the request's span, once sampling is decided.
  yield* Effect.provideService(withRoom(HttpServer.serveEffect(app)), HttpMiddleware.TracerDisabledWhen, () => true)
  yield* Effect.addFinalizer(() => Effect.andThen(drain, shutdown))
  let current = started
  /** Runs on the server's own fiber, so that nothing of a request stays in the new application. */
  const reload = Effect.gen(function* () {
    const fresh = yield* freshSettings(sealedKeys)
    const next = reloaded(started, fresh)
    yield* swap(build(next))
    const changed = differences(current, next)
    current = next
    yield* Effect.logInfo("the settings file was reloaded")
    return { isReloaded: true, changed, needsRestart: differences(next, fresh), faults: [] }
  }).pipe(Effect.catch(Effect.succeed))
  yield* Effect.forkScoped(
    Effect.forever(
      Effect.flatMap(Queue.take(asked), (asker) => Effect.flatMap(reload, (report) => Deferred.succeed(asker, report)))
    )
  )
  yield* Swappable.onHangup(Effect.asVoid(ask))
})

/** Circuits are logged, and events told to webhooks if there are any. */
const listeners = (settings: SettingsShape) =>
  settings.webhooks.length === 0
    ? CircuitEvents.layer
    : Layer.provideMerge(Layer.mergeAll(BudgetAlerts.layer, CircuitEvents.layer), Webhooks.layer(settings.webhooks))

/** Everything except the stores, and the startup banner once all is running. */
export const serving = (settings: SettingsShape, admin: AdminKey) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const keys = yield* makeSealedKeys(admin.value)
      return servingWith(yield* unsealed(settings, keys), admin, keys)
    })
  )

const servingWith = (settings: SettingsShape, admin: AdminKey, keys: SealedKeys) =>
  Layer.effectDiscard(startupBanner(settings, admin)).pipe(
    Layer.provide(
      Layer.mergeAll(
        ApiKeys.layer(settings),
        Generations.layerReconciler(settings.ledger),
        SignInSweeper.layer,
        Retention.layer(settings.generations),
        AuditWriter.layerDeleting(settings.audit)
      )
    ),
    Layer.provide(Layer.effectDiscard(serve(settings, admin, keys))),
    // Before the first request is served.
    Layer.provide(Layer.provide(Layer.effectDiscard(makeFirstKey(settings)), ApiKeys.layer(settings))),
    Layer.provide(Listener.layerHttp(settings)),
    Layer.provide(Listener.layer({ ...settings.server, graceMs: settings.shutdownGraceMs })),
    Layer.provide(
      Layer.mergeAll(
        OperatorsPort.layer(settings),
        RequestMetrics.layerRefreshing(settings.telemetry),
        listeners(settings),
        CircuitHistory.layer(settings.providers)
      )
    ),
    Layer.provide(AuditWriter.layer),
    Layer.provide(Layer.mergeAll(Ids.layer, Transport.layer, Outbound.layer, PendingSettlements.layer(settings))),
    Layer.provide(recollection)
  )
