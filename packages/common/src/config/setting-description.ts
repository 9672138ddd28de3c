import { z } from 'zod'
import type { Setting, Settings } from './setting.ts'

/** Settings of one subject, which the documents list under one heading. */
interface SettingGroup {
  readonly title: string
  /** A text above the table of the group, for example about how its settings depend on each other. */
  readonly about?: string
}

interface SettingFamily {
  /** The name with a placeholder for the word, such as `HOOK_<NAME>_URI`. */
  readonly pattern: string
  /** The words and their meanings. The meaning is empty if the word explains itself. */
  readonly words: Readonly<Record<string, string>>
}

declare module 'zod' {
  /** The texts about a setting in the documents, in addition to its rule and its description. */
  interface GlobalMeta {
    form?: string | undefined
    allowed?: string | undefined
    secret?: boolean | undefined
    /** Full names that are read if the name with the prefix is unset. */
    aliases?: readonly string[] | undefined
    /** Whether only the aliases are read. This applies to settings that other programs read under the same names. */
    unprefixed?: boolean | undefined
    /** Whether a rule about several settings may require this setting. The description says when. */
    required?: boolean | undefined
    group?: SettingGroup | undefined
    family?: SettingFamily | undefined
  }
}

/** Caches merged metadata, because merging takes more time than all other parts of reading the settings. */
const merged = new WeakMap<z.ZodType, z.GlobalMeta>()

/** Returns the metadata of a setting. The metadata of a wrapper, such as `optional`, override those of the wrapped setting. */
export function metaOf(setting: unknown): z.GlobalMeta {
  if (!(setting instanceof z.ZodType)) return {}
  const known = merged.get(setting)
  if (known !== undefined) return known
  const [input, innerType] = [Reflect.get(setting.def, 'in'), Reflect.get(setting.def, 'innerType')]
  const meta = { ...metaOf(input), ...metaOf(innerType), ...setting.meta() }
  merged.set(setting, meta)
  return meta
}

/** Puts settings under a heading in the documents. */
export function group<S extends Settings>(title: string | SettingGroup, settings: S): S {
  const heading = typeof title === 'string' ? { title } : title
  return withMeta(settings, () => ({ group: heading }))
}

type Named<Pattern extends string, Word extends string> = Pattern extends `${infer Head}<${string}>${infer Tail}`
  ? `${Head}${Word}${Tail}`
  : never

type FamilyOf<S extends Settings, Word extends string> = {
  readonly [Pattern in keyof S & string as Named<Pattern, Word>]: S[Pattern]
}

/** Creates each setting once for every word: `{ 'HOOK_<NAME>_URI': url() }` and `SEND_SMS` give `HOOK_SEND_SMS_URI`. */
export function family<const Word extends string, S extends Settings>(
  words: readonly Word[] | Readonly<Record<Word, string>>,
  settings: S,
): FamilyOf<S, Word> {
  const texts = Array.isArray(words) ? Object.fromEntries(words.map((word) => [word, ''])) : { ...words }
  const patterns = Object.entries(withMeta(settings, (pattern) => ({ family: { pattern, words: texts } })))
  const named = Object.keys(texts).flatMap((word) =>
    patterns.map(([pattern, setting]) => [pattern.replace(/<\w+>/, word), setting] as const),
  )
  // `Object.fromEntries` loses the names. `FamilyOf` replaces the placeholders as the code above does.
  return Object.fromEntries(named) as FamilyOf<S, Word>
}

function withMeta<S extends Settings>(settings: S, metaFor: (name: string) => z.GlobalMeta): S {
  const entries = Object.entries<Setting>(settings).map(([name, setting]) => [
    name,
    setting.meta({ ...setting.meta(), ...metaFor(name) }),
  ])
  // `Object.fromEntries` loses the names in its type. Each setting keeps its type, because `meta()` only adds metadata.
  return Object.fromEntries(entries) as S
}
