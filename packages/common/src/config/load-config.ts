import type { z } from 'zod'
import { ConfigError, type EnvironmentOptions, readEnvironment } from './environment.ts'
import type { Setting, Settings } from './setting.ts'
import { metaOf } from './setting-description.ts'
import {
  findRemovedSettings,
  findUnknownSettings,
  namesOfSettings,
  type RemovedSettings,
  type SettingPrefixes,
} from './unknown-settings.ts'

/** The values of settings, by their names without prefix. */
export type SettingValues<S extends Settings> = { readonly [Name in keyof S]: z.output<S[Name]> }

export interface LoadConfigOptions<S extends Settings> extends EnvironmentOptions, SettingPrefixes {
  readonly rules?: readonly Rule<SettingValues<S>>[]
  /** Settings that a release has removed. Each one that is still set is a problem. */
  readonly removed?: RemovedSettings
  /** Whether a name that begins with a prefix and that no setting reads is a problem too. */
  readonly refusesUnknown?: boolean
  /** Returns whether an unread name is expected. Such a name is not a problem. */
  readonly isExpected?: (name: string) => boolean
  /** The advice if a setting is missing, as a line below the problems. */
  readonly adviceForMissing?: string
  /** Whether problems hide all values. By default they show values that are not secret. */
  readonly hidesValues?: boolean
}

/**
 * A rule about several settings. A rule that reads an invalid setting is skipped.
 * @returns the problem, such as `AUTH_X is required when …`, or `undefined`
 */
export type Rule<Values> = (values: Values) => string | undefined

/**
 * Reads settings from the environment and, with lower priority, from an env file. An empty string counts as unset.
 * @throws ConfigError with all problems
 */
export function loadConfig<S extends Settings>(settings: S, options: LoadConfigOptions<S>): SettingValues<S> {
  const environment = readEnvironment(options)
  const names = namesOfSettings(settings, options)
  const problems: string[] = []
  let isMissing = false
  const values: Record<string, unknown> = {}
  for (const [name, setting] of Object.entries(settings)) {
    const found = lookUp(environment, names.get(name) ?? [])
    const result = setting.safeParse(found?.value)
    if (result.success) values[name] = result.data
    else problems.push(describeProblem(found ?? { name: options.prefix + name }, setting, result.error, options))
    isMissing ||= !result.success && found === undefined
  }
  // The proxy of the rules throws for an invalid setting. Without problems, the loop above has parsed all of S.
  const stated = values as SettingValues<S>
  problems.push(...brokenRules(options.rules ?? [], stated))
  const { removed = {}, isExpected = () => false } = options
  problems.push(...findRemovedSettings(removed, options))
  if (options.refusesUnknown) {
    const isKnown = (name: string) => isExpected(name) || name.slice(options.prefix.length) in removed
    problems.push(...findUnknownSettings(settings, { ...options, isExpected: isKnown }))
  }
  if (problems.length > 0) throw new ConfigError(problems, isMissing ? options.adviceForMissing : undefined)
  return Object.freeze(stated)
}

/** Thrown when a rule reads an invalid setting. */
class WrongSetting extends Error {}

function brokenRules<Values extends object>(rules: readonly Rule<Values>[], values: Values): string[] {
  const known = new Proxy(values, {
    get: (target, name): unknown => {
      if (name in target) return Reflect.get(target, name)
      throw new WrongSetting()
    },
  })
  return rules.flatMap((rule) => {
    try {
      return rule(known) ?? []
    } catch (error) {
      if (error instanceof WrongSetting) return []
      throw error
    }
  })
}

interface Found {
  readonly name: string
  readonly value: string
}

function lookUp(environment: Readonly<Record<string, string>>, names: readonly string[]): Found | undefined {
  for (const name of names) {
    const value = environment[name]
    if (value !== undefined) return { name, value }
  }
  return undefined
}

function describeProblem(
  { name, value }: Pick<Found, 'name'> & Partial<Found>,
  setting: Setting,
  error: z.ZodError,
  { hidesValues = false }: { readonly hidesValues?: boolean },
): string {
  if (value === undefined) return `${name} is required`
  const message = error.issues[0]?.message ?? 'is not valid'
  const isHidden = hidesValues || metaOf(setting).secret
  return isHidden ? `${name} ${message}` : `${name} ${message} (got ${JSON.stringify(value)})`
}
