import { type EnvironmentOptions, readEnvironment } from './environment.ts'
import type { Settings } from './setting.ts'
import { metaOf } from './setting-description.ts'

interface KnownNames extends EnvironmentOptions {
  /** `AUTH_`: names without it are not judged. */
  readonly prefix: string
}

/**
 * The names with the service's prefix that no setting reads: most are misspelt, and their owner believes them to be in
 * force. Returns a line for each, in order of the names, with the nearest name that exists and without the value.
 * @throws ConfigError when the env file cannot be read
 */
export function findUnknownSettings(settings: Settings, options: KnownNames): readonly string[] {
  const { prefix } = options
  const names = Object.entries(settings).flatMap(([name, setting]) => [
    prefix + name,
    ...(metaOf(setting).aliases ?? []),
  ])
  const known = new Set(names.filter((name) => name.startsWith(prefix)))
  return Object.keys(readEnvironment(options))
    .filter((name) => name.startsWith(prefix) && !known.has(name) && !KUBERNETES.test(name))
    .sort()
    .map((name) => `${name} is not a setting of this service; the nearest name is ${nearestTo(name, [...known])}`)
}

/** What Kubernetes puts into the environment for a Service whose name begins like the prefix. */
const KUBERNETES = /_SERVICE_HOST$|_SERVICE_PORT(_|$)|_PORT_\d+_(TCP|UDP|SCTP)(_|$)/

function nearestTo(name: string, candidates: readonly string[]): string {
  const distances = candidates.map((candidate) => ({ candidate, distance: editDistance(name, candidate) }))
  return distances.sort((a, b) => a.distance - b.distance)[0]?.candidate ?? ''
}

/** How many characters must be added, removed or replaced to make one text of the other (Levenshtein). */
export function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (const [line, character] of [...from].entries()) {
    const next = [line + 1]
    for (let column = 1; column <= to.length; column += 1) {
      const replaced = (row[column - 1] ?? 0) + (character === to[column - 1] ? 0 : 1)
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}
