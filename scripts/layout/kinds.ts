/**
 * Folders of a kind. A reader looks for their files by kind and name: the route of a URL, the use case of a command, the
 * provider of a sign-in. So even one short file may be a file, and a folder, of its own.
 */
export const KINDS: readonly string[] = [
  'routes',
  'controllers',
  'use-cases',
  'providers',
  'gateways',
  'config',
  'commands',
]

/** Whether a file or folder below `src` is in a folder of a kind, or is one. */
export function isOfKind(path: string): boolean {
  const [, inside = ''] = /\/src\/(.*)$/.exec(path) ?? []
  return inside.split('/').some((part) => KINDS.includes(part))
}
