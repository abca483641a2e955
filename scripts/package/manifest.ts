/**
 * The package.json of the npm package, from the repository's: what runs, and no tools. The code is
 * JavaScript there, in the same folders. Pure.
 */

export interface RepositoryManifest {
  readonly name: string
  readonly version: string
  readonly description: string
  readonly license: string
  readonly exports: Readonly<Record<string, string>>
  readonly dependencies: Readonly<Record<string, string>>
  readonly optionalDependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
}

/** Of the client. What runs the gateway needs the Node that its launcher asks for. */
const LEAST_NODE = ">=20.0.0"

const built = (source: string): string | { readonly types: string; readonly default: string } => {
  const [, name] = /^(.*)\.ts$/.exec(source) ?? []
  return name === undefined ? source : { types: `${name}.d.ts`, default: `${name}.js` }
}

/** What the suites of `tollgate/testing/suites` run in. */
const ofTheSuites = ["@effect/vitest", "vitest"]

/** Folders and files beside package.json. */
export const published = ["src", "test", "dist", "docs", "openapi.json", "tollgate.example.yaml", "CHANGELOG.md"]

export const manifestOf = (repository: RepositoryManifest) => {
  const { dependencies, description, devDependencies, exports, license, name, optionalDependencies, version } =
    repository
  // A program that replaces a layer must have the same copy of Effect.
  const { effect, ...rest } = dependencies
  if (effect === undefined) throw new Error("package.json does not name effect")
  // The pinned Nodes are used where they are installed, and the suites where there is Vitest.
  const optional = {
    ...optionalDependencies,
    ...Object.fromEntries(Object.entries(devDependencies).filter(([each]) => ofTheSuites.includes(each)))
  }
  return {
    name,
    version,
    description,
    license,
    type: "module",
    engines: { node: LEAST_NODE },
    bin: { [name]: "./src/launcher/main.js" },
    exports: Object.fromEntries(Object.entries(exports).map(([path, source]) => [path, built(source)])),
    files: published,
    sideEffects: ["./src/main.js", "./src/cli/main.js", "./src/launcher/main.js", "./src/store/embedded/Worker.js"],
    dependencies: rest,
    peerDependencies: { effect, ...optional },
    peerDependenciesMeta: Object.fromEntries(Object.keys(optional).map((each) => [each, { optional: true }]))
  }
}
