import { type EnvironmentOptions, readEnvironment } from './environment.ts'
import type { Settings } from './setting.ts'
import { metaOf } from './setting-description.ts'

interface KnownNames extends EnvironmentOptions {
  /** `AUTH_`: names without this prefix are ignored. */
  readonly prefix: string
}

/**
 * Finds names with the service's prefix that no setting reads. Most are misspelt, and the operator believes that they apply.
 * @returns a line for each, in the order of the names, with a known name that is near, and without the value
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
    .map((name) => describeUnknown(name, [...known]))
}

/** Variables that Kubernetes sets for a Service whose name begins like the prefix. */
const KUBERNETES = /_SERVICE_HOST$|_SERVICE_PORT(_|$)|_PORT_\d+_(TCP|UDP|SCTP)(_|$)/

function describeUnknown(name: string, known: readonly string[]): string {
  const [nearest] = known
    .map((candidate) => ({ candidate, distance: editDistance(name, candidate) }))
    .sort((a, b) => a.distance - b.distance)
  const isNear = nearest !== undefined && nearest.distance <= name.length / 3
  return isNear ? `unknown setting ${name}, did you mean ${nearest.candidate}?` : `unknown setting ${name}`
}

/** The number of characters to add, remove or replace to turn one text into the other (Levenshtein distance). */
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
