import { findMeantWord } from '../commands/meant-word.ts'
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
  const meant = findMeantWord(name, known)
  return meant === undefined ? `unknown setting ${name}` : `unknown setting ${name}, did you mean ${meant}?`
}
