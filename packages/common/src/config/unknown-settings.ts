import { findSuggestion } from '../errors/suggestion.ts'
import { type EnvironmentOptions, readEnvironment } from './environment.ts'
import type { Settings } from './setting.ts'
import { metaOf } from './setting-description.ts'

type NameSource = EnvironmentOptions & SettingPrefixes

interface KnownNames extends NameSource {
  /** Returns whether an unread name is expected. Such a name is not reported. */
  readonly isExpected?: (name: string) => boolean
}

/**
 * Returns the names with a prefix of the service that no setting reads, sorted. Omits the variables of Kubernetes. Also omits the
 * variables that `npm start -- status -o env` prints for clients, because operators may run service commands in the same shell.
 * @throws ConfigError if the env file cannot be read
 */
export function listUnreadNames(settings: Settings, options: NameSource): readonly string[] {
  const known = new Set([...namesOfSettings(settings, options).values()].flat())
  const { prefix, otherPrefix = prefix } = options
  return Object.keys(readEnvironment(options))
    .filter((name) => name.startsWith(prefix) || name.startsWith(otherPrefix))
    .filter((name) => !known.has(name) && !isSetByKubernetes(name))
    .filter((name) => name !== `${prefix}URL` && name !== `${prefix}METRICS_URL`)
    .sort()
}

/**
 * Finds names with a prefix of the service that no setting reads. Most are misspelt, and the operator believes that they apply.
 * @returns a line for each, in alphabetical order, with a similar known name, without the value
 * @throws ConfigError if the env file cannot be read
 */
export function findUnknownSettings(settings: Settings, options: KnownNames): readonly string[] {
  const { prefix, otherPrefix = prefix, isExpected = () => false } = options
  const known = [...namesOfSettings(settings, options).values()].flat()
  return listUnreadNames(settings, options)
    .filter((name) => !isExpected(name))
    .map((name) => {
      const own = name.startsWith(prefix) ? prefix : otherPrefix
      return describeUnknown(
        name,
        known.filter((candidate) => candidate.startsWith(own)),
      )
    })
}

/**
 * Finds settings that have different values under the two prefixes. The prefix of the service has priority.
 * @returns a line for each, in the order of the settings, without the values
 * @throws ConfigError if the env file cannot be read
 */
export function findContradictions(settings: Settings, options: NameSource): readonly string[] {
  const environment = readEnvironment(options)
  return [...namesOfSettings(settings, options).values()].flatMap((names) => {
    const set = names.filter((name) => environment[name] !== undefined)
    const own = set.find((name) => name.startsWith(options.prefix))
    const other = set.find((name) => options.otherPrefix !== undefined && name.startsWith(options.otherPrefix))
    if (own === undefined || other === undefined || environment[own] === environment[other]) return []
    return [`${other} is ignored, because ${own} has another value`]
  })
}

/** Settings that a release has removed, by name without prefix. Each value is the advice to an operator who still sets it. */
export type RemovedSettings = Readonly<Record<string, string>>

/**
 * Finds removed settings that are still set, so that no operator believes that they take effect.
 * @returns a line for each, in the order of the settings, without the value
 * @throws ConfigError if the env file cannot be read
 */
export function findRemovedSettings(removed: RemovedSettings, options: NameSource): readonly string[] {
  const environment = readEnvironment(options)
  const { prefix, otherPrefix = prefix } = options
  return Object.entries(removed).flatMap(([name, advice]) =>
    [...new Set([prefix + name, otherPrefix + name])]
      .filter((candidate) => environment[candidate] !== undefined)
      .map((candidate) => `${candidate} no longer exists: ${advice}`),
  )
}

/** Returns whether Kubernetes sets this variable, for a Service whose name begins like the prefix. */
export function isSetByKubernetes(name: string): boolean {
  return KUBERNETES.test(name)
}

const KUBERNETES = /_SERVICE_HOST$|_SERVICE_PORT(_|$)|_PORT_\d+_(TCP|UDP|SCTP)(_|$)/

function describeUnknown(name: string, known: readonly string[]): string {
  const meant = findSuggestion(name, known)
  return meant === undefined ? `unknown setting ${name}` : `unknown setting ${name}, did you mean ${meant}?`
}

export interface SettingPrefixes {
  /** For example, `AUTH_`. */
  readonly prefix: string
  /** A second prefix under which every setting is read too, such as `GOTRUE_`. */
  readonly otherPrefix?: string | undefined
}

/**
 * Caches the names by both prefixes. A service uses only one pair of prefixes, but each read of the settings needs the names
 * several times.
 */
const namesByPrefixes = new WeakMap<Settings, Map<string, ReadonlyMap<string, readonly string[]>>>()

/**
 * Returns the names of each setting in the order of their lookup, by the setting's name without prefix. The order is the name
 * with the prefix, the name with the other prefix, and then names without a prefix, such as `PORT`. If a setting lists a name as
 * its alias, no other setting uses that name.
 */
export function namesOfSettings(settings: Settings, prefixes: SettingPrefixes): ReadonlyMap<string, readonly string[]> {
  const known = namesByPrefixes.get(settings) ?? new Map<string, ReadonlyMap<string, readonly string[]>>()
  namesByPrefixes.set(settings, known)
  const pair = `${prefixes.prefix} ${prefixes.otherPrefix ?? ''}`
  const names = known.get(pair) ?? listNames(settings, prefixes)
  known.set(pair, names)
  return names
}

function listNames(
  settings: Settings,
  { prefix, otherPrefix }: SettingPrefixes,
): ReadonlyMap<string, readonly string[]> {
  const listed = Object.entries(settings).map(([name, setting]) => {
    const { aliases = [], unprefixed = false } = metaOf(setting)
    return { name, aliases, unprefixed }
  })
  const claimed = new Set(listed.flatMap(({ aliases }) => aliases))
  return new Map(
    listed.map(({ name, aliases, unprefixed }) => {
      if (unprefixed) return [name, aliases]
      const own = [prefix + name, ...aliases.filter((alias) => alias.startsWith(prefix))]
      if (otherPrefix === undefined) return [name, [...new Set([...own, ...aliases])]]
      const others = own
        .map((ownName) => otherPrefix + ownName.slice(prefix.length))
        .filter((other) => !claimed.has(other))
      const listedOthers = aliases.filter((alias) => alias.startsWith(otherPrefix))
      return [name, [...new Set([...own, ...others, ...listedOthers, ...aliases])]]
    }),
  )
}
