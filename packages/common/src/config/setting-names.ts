import type { Settings } from './setting.ts'
import { metaOf } from './setting-description.ts'

/** The prefixes of the names of settings. */
export interface SettingPrefixes {
  /** `AUTH_` */
  readonly prefix: string
  /** A second prefix, under which every setting is read too: `GOTRUE_`. */
  readonly otherPrefix?: string | undefined
}

/**
 * The names by prefix and other prefix. A service reads its settings under one pair of prefixes, and each
 * read asks several times.
 */
const namesByPrefixes = new WeakMap<Settings, Map<string, ReadonlyMap<string, readonly string[]>>>()

/**
 * The names of each setting, by its name without prefix, in the order in which they are looked up: with the
 * prefix, with the other prefix, then names that belong to nobody, such as `PORT`. A name that a setting
 * lists among its aliases is that setting's alone.
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
  const listed = new Map(Object.entries(settings).map(([name, setting]) => [name, metaOf(setting).aliases ?? []]))
  const claimed = new Set([...listed.values()].flat())
  return new Map(
    [...listed].map(([name, aliases]) => {
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
