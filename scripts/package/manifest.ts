/**
 * The package.json of the npm package, from the repository's: what runs, and no tools. The code is
 * JavaScript in `lib` there. Pure.
 */

export interface RepositoryManifest {
  readonly name: string
  readonly version: string
  readonly description: string
  readonly license: string
  readonly exports: Readonly<Record<string, string>>
  readonly dependencies: Readonly<Record<string, string>>
  readonly optionalDependencies: Readonly<Record<string, string>>
}

/** Of the client. What runs the gateway needs the Node that its launcher asks for. */
const LEAST_NODE = ">=20.0.0"

const built = (source: string): string | { readonly types: string; readonly default: string } => {
  const [, name] = /^\.\/src\/(.*)\.ts$/.exec(source) ?? []
  return name === undefined ? source : { types: `./lib/${name}.d.ts`, default: `./lib/${name}.js` }
}

/** Folders and files beside package.json. */
export const published = ["lib", "dist", "docs", "openapi.json", "tollgate.example.yaml", "CHANGELOG.md"]

export const manifestOf = (repository: RepositoryManifest) => {
  const { dependencies, description, exports, license, name, optionalDependencies, version } = repository
  // A program that replaces a layer must have the same copy of Effect.
  const { effect, ...rest } = dependencies
  if (effect === undefined) throw new Error("package.json does not name effect")
  return {
    name,
    version,
    description,
    license,
    type: "module",
    engines: { node: LEAST_NODE },
    bin: { [name]: "./lib/launcher/main.js" },
    exports: Object.fromEntries(Object.entries(exports).map(([path, source]) => [path, built(source)])),
    files: published,
    sideEffects: ["./lib/main.js", "./lib/cli/main.js", "./lib/launcher/main.js", "./lib/store/embedded/Worker.js"],
    dependencies: rest,
    // The pinned Nodes are used where they are installed; nobody who has a new Node downloads one.
    peerDependencies: { effect, ...optionalDependencies },
    peerDependenciesMeta: Object.fromEntries(
      Object.keys(optionalDependencies).map((each) => [each, { optional: true }])
    )
  }
}
