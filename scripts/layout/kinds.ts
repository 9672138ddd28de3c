/**
 * Folders of a kind. What is in them is looked for by its kind and its own name: the route of a URL, the use case of a
 * command, the provider of a sign-in. So one file is worth a file, and a folder, however small.
 */
const KINDS = ['routes', 'controllers', 'use-cases', 'providers', 'gateways', 'languages', 'config', 'commands', 'jobs']

/** Whether a file or folder below `src` is in a folder of a kind, or is one. */
export function isOfKind(path: string): boolean {
  const [, inside = ''] = /\/src\/(.*)$/.exec(path) ?? []
  return inside.split('/').some((part) => KINDS.includes(part))
}
