/**
 * Resources that a measurement starts and must stop: processes, directories, databases. They end
 * with their user, also on a signal.
 */

/** Functions to call at the end, in reverse order. */
export class Closers {
  readonly #closers: Array<() => unknown> = []

  add(close: () => unknown): void {
    this.#closers.push(close)
  }

  async close(): Promise<void> {
    for (let close = this.#closers.pop(); close !== undefined; close = this.#closers.pop()) await close()
  }
}

const open = new Set<Closers>()

/** Closes all resources afterwards, so that the next measurement has the machine for itself. */
export const closing = async <A>(use: (closers: Closers) => Promise<A>): Promise<A> => {
  const closers = new Closers()
  open.add(closers)
  try {
    return await use(closers)
  } finally {
    await closers.close()
    open.delete(closers)
  }
}

export const closeAll = async (): Promise<void> => {
  for (const closers of [...open].toReversed()) await closers.close()
}
