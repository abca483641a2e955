/**
 * The events of an answer, read in batches by one reader. A stage reads the stage before it by a
 * plain call, so a batch takes as few steps of the runtime behind seven stages as behind one.
 * `Stream` takes about three for each stage.
 *
 * A stage may wait, in an effect: its reader then waits too. Reading that is interrupted while it
 * waits for a batch loses none: the next reader gets it.
 */
import { isReadonlyArrayNonEmpty, type NonEmptyReadonlyArray } from "effect/Array"
import { Cause, Channel, Effect, Pull, type Scope, Stream } from "effect"

export type Batch<A> = NonEmptyReadonlyArray<A>

/** Null: nothing has come yet, and the reader waits for the next batch. */
export type Reading<A, E> = Effect.Effect<Batch<A> | null, E | Cause.Done>

export class Batches<A, E = never> {
  /** Waits until there is something to read. Called before each `read`. */
  readonly ready: () => Effect.Effect<void>
  /** Reads what has come. Fails with `Done` at the end, at each further call too. */
  readonly read: () => Batch<A> | null | Reading<A, E>

  constructor(ready: () => Effect.Effect<void>, read: () => Batch<A> | null | Reading<A, E>) {
    this.ready = ready
    this.read = read
  }

  static readonly of = <A>(events: ReadonlyArray<A>): Batches<A> => {
    let isRead = false
    return new Batches<A>(
      () => Effect.void,
      () => {
        if (isRead || !isReadonlyArrayNonEmpty(events)) return Cause.done()
        isRead = true
        return events
      }
    )
  }

  static readonly fromPull = <A, E>(pull: Pull.Pull<Batch<A>, E>): Batches<A, E> =>
    new Batches(
      () => Effect.void,
      () => pull
    )

  static readonly fromStream = <A, E>(stream: Stream.Stream<A, E>): Effect.Effect<Batches<A, E>, never, Scope.Scope> =>
    Effect.flatMap(Effect.scope, (scope) =>
      Effect.map(Channel.toPullScoped(Stream.toChannel(stream), scope), Batches.fromPull)
    )

  /** The next batch. Works when it is called. */
  next(): Pull.Pull<Batch<A>, E> {
    return Effect.flatMapEager(this.ready(), () => {
      const batch = this.read()
      if (batch === null) return this.next()
      if (!Effect.isEffect(batch)) return Effect.succeed(batch)
      return Effect.flatMapEager(batch, (own) => (own === null ? this.next() : Effect.succeed(own)))
    })
  }

  get pull(): Pull.Pull<Batch<A>, E> {
    return Effect.suspend(() => this.next())
  }

  get stream(): Stream.Stream<A, E> {
    return Stream.fromPull(Effect.succeed(this.pull))
  }

  /**
   * Reads to the end. A `Stream` would do the same, but V8 keeps what its functions hold until the
   * next full collection: here, the whole request.
   */
  forEach<E2, R>(visit: (batch: Batch<A>) => Effect.Effect<void, E2, R>): Effect.Effect<void, E | E2, R> {
    const rest: Effect.Effect<void, E | E2, R> = Effect.suspend(() =>
      Pull.matchEffect(this.next(), {
        onSuccess: (batch) => Effect.flatMapEager(visit(batch), () => rest),
        onFailure: Effect.failCause,
        onDone: () => Effect.void
      })
    )
    return rest
  }

  /** The same batches behind `batch`. */
  after(batch: Batch<A>): Batches<A, E> {
    let isRead = false
    return new Batches(
      () => (isRead ? this.ready() : Effect.void),
      () => {
        if (isRead) return this.read()
        isRead = true
        return batch
      }
    )
  }

  /** A stage. `onBatch` runs for each batch, and its failure ends the stage. */
  map<B, E2 = never>(onBatch: (batch: Batch<A>) => Batch<B> | null | Reading<B, E2>): Batches<B, E | E2> {
    return this.through<B, E2, E>(onBatch, (end) => Effect.fail(end))
  }

  /**
   * A stage that also sees the end. `onEnd` runs once, for `Done` or the failure, and gives the
   * last batch or fails.
   */
  through<B, E2, E3>(
    onBatch: (batch: Batch<A>) => Batch<B> | null | Reading<B, E2>,
    onEnd: (end: E | Cause.Done) => Reading<B, E3>
  ): Batches<B, E2 | E3> {
    let isOver = false
    const ended = (end: E | Cause.Done): Reading<B, E3> => {
      isOver = true
      return onEnd(end)
    }
    const passed = (batch: Batch<A> | null): Reading<B, E2> => {
      const own = batch === null ? null : onBatch(batch)
      return Effect.isEffect(own) ? own : Effect.succeed(own)
    }
    return new Batches<B, E2 | E3>(
      () => (isOver ? Effect.void : this.ready()),
      () => {
        if (isOver) return Cause.done()
        const batch = this.read()
        if (batch === null) return null
        if (!Effect.isEffect(batch)) return onBatch(batch)
        return Effect.matchCauseEffectEager(batch, {
          onSuccess: passed,
          onFailure: (cause) => Effect.catchEager(Effect.failCause(cause), ended)
        })
      }
    )
  }
}
