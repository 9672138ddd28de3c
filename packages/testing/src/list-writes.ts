import { readFile } from 'node:fs/promises'
import type { Command } from 'commander'

/** How a writing route or command can be traced: by entries of an audit log, or by other means, which `reason` explains. */
export type Trace = { readonly entries: readonly string[] } | { readonly reason: string }

/** The HTTP methods that do not write. A service lists its exceptions for GET. */
const READS: ReadonlySet<string> = new Set(['get', 'head', 'options'])

/**
 * Lists the routes of a service that may write, such as `POST /merchants`, sorted by name. The document contains every route,
 * because a test of each service compares it with the routes.
 * @param writingReads the GET routes that write
 */
export async function listWritingRoutes(document: URL, writingReads: readonly string[] = []): Promise<string[]> {
  const read: unknown = JSON.parse(await readFile(document, 'utf8'))
  const [paths] = membersOf(read).flatMap(([name, value]) => (name === 'paths' ? [membersOf(value)] : []))
  const routes = (paths ?? []).flatMap(([path, methods]) =>
    membersOf(methods).map(([method]) => ({ name: `${method.toUpperCase()} ${path}`, writes: !READS.has(method) })),
  )
  return routes.flatMap(({ name, writes }) => (writes || writingReads.includes(name) ? [name] : [])).sort()
}

function membersOf(value: unknown): [string, unknown][] {
  return typeof value === 'object' && value !== null ? Object.entries(value) : []
}

/** Lists all commands of a program, such as `keys add`, sorted by name. */
export async function listCommands(loaders: Readonly<Record<string, () => Promise<Command>>>): Promise<string[]> {
  const names: string[] = []
  const walk = (command: Command, path: string): void => {
    if (command.commands.length === 0) names.push(path)
    for (const child of command.commands) walk(child, `${path} ${child.name()}`)
  }
  for (const [name, load] of Object.entries(loaders)) walk(await load(), name)
  return names.sort()
}
