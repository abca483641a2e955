/**
 * The container's health check: exits 0 if the gateway on this machine is ready, otherwise 1 with
 * the reason.
 */
const port = process.env["TOLLGATE_PORT"] ?? "8787"

try {
  const response = await fetch(`http://127.0.0.1:${port}/health/ready`, { signal: AbortSignal.timeout(4_000) })
  if (!response.ok) throw new Error(`status ${response.status}`)
} catch (cause) {
  console.error(`not ready: ${cause instanceof Error ? cause.message : String(cause)}`)
  process.exitCode = 1
}
