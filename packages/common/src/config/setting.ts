import { z } from 'zod'
import { parseTrustedProxies, type TrustedProxies } from '../server/trusted-proxies.ts'
import { parseDuration } from './duration.ts'

/**
 * A setting. It parses text, or `undefined` if the setting is unset. Its messages say what the value must be, and the loader adds
 * the name and value. `prefault` sets a default in the operator's notation, and `describe` explains the meaning.
 */
export type Setting<T = unknown> = z.ZodType<T, unknown>

/** Settings by name without prefix, such as `{ SITE_URL: url(), JWT_EXP: integer(1).prefault('3600') }`. */
export type Settings = Readonly<Record<string, Setting>>

interface Form {
  /** One or two words for the documents, such as `duration`. */
  readonly form: string
  /** The accepted values, if `form` does not state them. */
  readonly allowed?: string
  /** Whether messages omit the value. */
  readonly secret?: boolean
  /** The message for an invalid value, such as `must be a port between 0 and 65535`. */
  readonly problem: string
}

/** Creates a setting whose value is the result of `read`. If `read` returns `undefined`, the value is invalid. */
export function parsed<T>({ problem, ...meta }: Form, read: (value: string) => T | undefined): z.ZodType<T, string> {
  return z
    .string()
    .meta(meta)
    .transform((value, context) => {
      const result = read(value)
      if (result !== undefined) return result
      context.addIssue({ code: 'custom', message: problem })
      return z.NEVER
    })
}

/** Creates a setting for any text that is not empty. */
export function text(): z.ZodType<string, string> {
  return z.string().meta({ form: 'text' })
}

/** Creates a setting for text that matches a pattern. `wanted` completes the sentence "must be …". */
export function matching(pattern: RegExp, wanted: string): z.ZodType<string, string> {
  return parsed({ form: wanted, problem: `must be ${wanted}` }, (value) => (pattern.test(value) ? value : undefined))
}

/** Marks a setting whose value no message may show, such as a password, key or token. */
export function secret(rule: z.ZodType<string, string> = text()): z.ZodType<string, string> {
  return rule.meta({ secret: true })
}

/** Creates a secret setting for base64 or base64url of at least `bytes` bytes. The value is a Buffer. */
export function secretBytes(bytes: number): z.ZodType<Buffer, string> {
  const allowed = `at least ${bytes} bytes`
  const problem = `must be base64 of ${allowed}`
  return parsed({ form: 'base64', allowed, secret: true, problem }, (value) => {
    const key = Buffer.from(value, 'base64')
    return /^[A-Za-z0-9+/_-]+={0,2}$/.test(value) && key.length >= bytes ? key : undefined
  })
}

/** Creates a setting for an integer between two inclusive bounds. `form` names the unit if there is one, such as seconds. */
export function integer(min = 0, max = Number.MAX_SAFE_INTEGER, form = 'whole number'): z.ZodType<number, string> {
  const isOpen = max === Number.MAX_SAFE_INTEGER
  const range = isOpen ? `of at least ${min}` : `between ${min} and ${max}`
  const problem = isOpen && min === 1 ? 'must be a positive integer' : `must be an integer ${range}`
  const atLeast = min === 0 ? '' : `at least ${min}`
  return parsed({ form, allowed: isOpen ? atLeast : `${min} to ${max}`, problem }, (value) => {
    const number = /^-?\d{1,15}$/.test(value) ? Number(value) : Number.NaN
    return number >= min && number <= max ? number : undefined
  })
}

export function port(): z.ZodType<number, string> {
  return parsed({ form: 'port', problem: 'must be a port between 0 and 65535' }, (value) => {
    const number = /^\d{1,5}$/.test(value) ? Number(value) : Number.NaN
    return number <= 65_535 ? number : undefined
  })
}

/** Creates a setting for a boolean. Accepts true/false, 1/0, t/f, yes/no and y/n in any case. */
export function flag(): z.ZodType<boolean, string> {
  return parsed({ form: 'flag', problem: 'must be true or false' }, (value) => {
    const word = value.toLowerCase()
    if (['true', '1', 't', 'yes', 'y'].includes(word)) return true
    return ['false', '0', 'f', 'no', 'n'].includes(word) ? false : undefined
  })
}

/** Creates a setting for the proxies in front: their number, or a comma-separated list of addresses and networks. */
export function trustedProxies(): z.ZodType<TrustedProxies, string> {
  const problem = 'must be a number of proxies up to 99, or addresses and networks such as 10.0.0.0/8, joined by commas'
  return parsed({ form: 'number up to 99, or list of addresses and networks', problem }, parseTrustedProxies)
}

/** Creates a setting for an absolute URL with one of the schemes. The value is the text as written. */
export function url(...schemes: readonly string[]): z.ZodType<string, string> {
  const taken = schemes.length === 0 ? ['http', 'https'] : schemes
  const starts = taken.map((scheme) => `${scheme}://`).join(' or ')
  const form = schemes.length === 0 ? 'URL' : `${starts} URL`
  return parsed({ form, problem: `must be an absolute URL (${starts})` }, (value) => {
    const address = URL.parse(value)
    return address?.host && taken.includes(address.protocol.slice(0, -1)) ? value : undefined
  })
}

/** Creates a setting that accepts one of the given words in any case. The value is spelled as in the list. */
export function oneOf<const Word extends string>(...words: readonly Word[]): z.ZodType<Word, string> {
  const allowed = words.join(', ')
  return parsed({ form: 'one of', allowed, problem: `must be one of ${allowed}` }, (value) =>
    words.find((candidate) => candidate.toLowerCase() === value.toLowerCase()),
  )
}

/** Creates a setting for comma-separated words. Trims the words and drops empty ones. */
export function commaList(): z.ZodType<readonly string[], string> {
  return z.string().meta({ form: 'list' }).transform(splitList)
}

function splitList(value: string): readonly string[] {
  return value
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '')
}

/** Creates a setting for a duration in milliseconds. Accepts Go style (`300ms`, `1.5h`, `2h45m`) or a number of seconds. */
export function duration(): z.ZodType<number, string> {
  const problem = 'must be a duration such as 300ms, 1.5h, 2h45m, or a number of seconds'
  return parsed({ form: 'duration', problem }, parseDuration)
}
