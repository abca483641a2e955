/**
 * Finds modules without searching. The files of this program and of Effect import one another by whole names, so that nothing has to be
 * looked up for them: no file's status, no real path, no package.json, which is half of the time it takes to load a thousand
 * modules. All other imports are Node's own matter, once for each name. To be set before the first of them is imported.
 */
import { registerHooks, type ResolveFnOutput } from "node:module"

const own = new URL("./", import.meta.url).href
const effect = /\/node_modules\/(?:effect|@effect\/[^/]+)\/dist\//

/** The format of a file that `specifier` names, relative to `parent`; `null`: Node has to look. */
const formatOf = (specifier: string, parent: string): string | null => {
  if (!specifier.startsWith(".")) return null
  if (specifier.endsWith(".ts")) return parent.startsWith(own) ? "module-typescript" : null
  return specifier.endsWith(".js") && effect.test(parent) ? "module" : null
}

export const rememberModules = (): void => {
  const packages = new Map<string, ResolveFnOutput>()
  registerHooks({
    resolve: (specifier, context, next) => {
      const parent = context.parentURL ?? ""
      const format = formatOf(specifier, parent)
      if (format !== null) return { url: new URL(specifier, parent).href, format, shortCircuit: true }
      if (specifier.startsWith(".") || !parent.startsWith(own)) return next(specifier, context)
      const key = `${specifier} ${context.conditions.join(" ")}`
      const known = packages.get(key) ?? next(specifier, context)
      packages.set(key, known)
      return { ...known, shortCircuit: true }
    }
  })
}
