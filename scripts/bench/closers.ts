/**
 * What a measurement starts and has to stop: processes, directories, databases. All of it ends with
 * what used it, also on a signal.
 */

/** What has to be closed at the end, the last first. */
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

/**
 * Closes all that it started when it is over, so that what comes next has the machine for itself.
 */
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
