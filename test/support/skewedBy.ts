/**
 * The environment that shifts a process's wall clock by some milliseconds. Its monotonic clock
 * stays unchanged.
 */
export const skewedBy = (ms: number): { readonly NODE_OPTIONS: string } => {
  const preload = `const now = Date.now
Date.now = () => now() + (${ms})
globalThis.Date = new Proxy(Date, {
  construct: (target, given, made) => Reflect.construct(target, given.length === 0 ? [Date.now()] : given, made)
})`
  return { NODE_OPTIONS: `--import="data:text/javascript,${encodeURIComponent(preload)}"` }
}
