import { z } from 'zod'
import { metaOf } from '../../packages/common/src/config/setting-description.ts'

/** The documentation of a setting. */
export interface DescribedSetting {
  /** The name with its prefix. */
  readonly name: string
  /** The name with a placeholder if the setting exists for each of several words: `AUTH_HOOK_<HOOK>_URI`. */
  readonly pattern: string | undefined
  /** The words of the placeholder, with their meanings. */
  readonly words: Readonly<Record<string, string>>
  readonly group: string
  /** The facts about all settings of the group. */
  readonly about: string
  readonly meaning: string
  readonly form: string
  readonly allowed: string
  /** The default as an operator would write it. Empty if there is none. */
  readonly default: string
  readonly isRequired: boolean
  readonly isSecret: boolean
  readonly aliases: readonly string[]
}

type Settings = Readonly<Record<string, unknown>>

/**
 * Describes the settings of a service, in the order in which it reads them.
 * @param prefix the prefix of their names: `AUTH_`
 */
export function describeSettings(settings: Settings, prefix: string): readonly DescribedSetting[] {
  return Object.entries(settings).map(([key, setting]) => {
    const { description, group, form, family, allowed, secret, required, unprefixed } = metaOf(setting)
    const [name = prefix + key, ...aliases] = [
      ...(unprefixed ? [] : [prefix + key]),
      ...(metaOf(setting).aliases ?? []),
    ]
    return {
      name,
      pattern: family && prefix + family.pattern,
      words: family?.words ?? {},
      group: group?.title ?? '',
      about: group?.about ?? '',
      meaning: description ?? '',
      form: form ?? '',
      allowed: allowed ?? '',
      default: writtenDefault(setting) ?? '',
      isRequired: required === true || !(setting instanceof z.ZodType && setting.safeParse(undefined).success),
      isSecret: secret === true,
      aliases,
    }
  })
}

/** The missing descriptions of settings, one per line. */
export function findUndescribed(settings: Settings, prefix: string): readonly string[] {
  return Object.entries(settings).flatMap(([name, setting]) => {
    const { description, group, form } = metaOf(setting)
    return [
      ...(description ? [] : [`${prefix}${name} has no meaning: .describe('…')`]),
      ...(group ? [] : [`${prefix}${name} stands in no group: group('…', { … })`]),
      ...(form ? [] : [`${prefix}${name} has no form: parsed({ form: '…', … })`]),
      ...(writtenDefault(setting) === undefined
        ? [`${prefix}${name} has a default that is no text: .prefault('…')`]
        : []),
    ]
  })
}

/** The text of `prefault`, or an empty string. `undefined` for a non-empty default that was given as a value. */
function writtenDefault(setting: unknown): string | undefined {
  if (setting instanceof z.ZodPrefault) return String(setting.def.defaultValue)
  if (setting instanceof z.ZodDefault) return isNothing(setting.def.defaultValue) ? '' : undefined
  if (setting instanceof z.ZodOptional) return writtenDefault(setting.def.innerType)
  return setting instanceof z.ZodPipe ? writtenDefault(setting.def.in) : ''
}

function isNothing(value: unknown): boolean {
  return value === '' || (Array.isArray(value) && value.length === 0) || (value instanceof Map && value.size === 0)
}
