/** What the operations that add providers do and answer, for the OpenAPI document. */
const words = (does: string, answers: string) => ({ does, answers })

export const providerOperations = {
  "adminProviderSetup.presets": words(
    "Lists the vendors whose address, models and prices the gateway knows, and servers that operators run.",
    "The presets."
  ),
  "adminProviderSetup.test": words(
    "Asks a provider for its models with one free call, and shows them with their prices. It changes nothing. A refused key, or an address that does not answer, is a 200 with `ok: false`.",
    "What the provider answered, or what was wrong."
  ),
  "adminProviderSetup.add": words(
    "Tests a provider, seals its key in the database, writes the settings file and reloads it: the provider serves from the answer on. A copy of the file as it was stays beside it. 409 if the provider is there already, or the file cannot be written or was changed meanwhile.",
    "What was written."
  ),
  "adminProviderSetup.replaceKey": words(
    "Tests another key of a provider and uses it from the answer on. The settings file is written only if it names the key in another way.",
    "What was written."
  ),
  "adminProviderSetup.remove": words(
    "Takes a provider out of the settings file, and its sealed key out of the database. Running requests end with it.",
    "What was written."
  )
}
