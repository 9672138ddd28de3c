import { z } from 'zod'
import { parseTrustedProxies, type TrustedProxies } from '../server/trusted-proxies.ts'
import { parseDuration } from './duration.ts'

/**
 * A setting. It parses text, or undefined when unset. Its messages say what the value must be; the loader adds name and value.
 * `prefault` gives a default as an operator would write it, and `describe` the meaning.
 */
export type Setting<T = unknown> = z.ZodType<T, unknown>

/** Settings by name without prefix: `{ SITE_URL: url(), JWT_EXP: integer(1).prefault('3600') }`. */
export type Settings = Readonly<Record<string, Setting>>

interface Form {
  /** A word or two for the documents: `duration`. */
  readonly form: string
  /** The accepted values, if the form does not say so. */
  readonly allowed?: string
  /** Whether messages leave out the value. */
  readonly secret?: boolean
  /** The problem with any other text: `must be a port between 0 and 65535`. */
  readonly problem: string
}

/** A setting whose value `read` returns. Undefined is a problem. */
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

/** Any text that is not empty. */
export function text(): z.ZodType<string, string> {
  return z.string().meta({ form: 'text' })
}

/** Text that matches a pattern. `wanted` completes the sentence "must be …". */
export function matching(pattern: RegExp, wanted: string): z.ZodType<string, string> {
  return parsed({ form: wanted, problem: `must be ${wanted}` }, (value) => (pattern.test(value) ? value : undefined))
}

/** Text that no message may show: passwords, keys, tokens. */
export function secret(rule: z.ZodType<string, string> = text()): z.ZodType<string, string> {
  return rule.meta({ secret: true })
}

/** Base64 (plain or URL alphabet) of at least `bytes` bytes, as a Buffer. Never shown. */
export function secretBytes(bytes: number): z.ZodType<Buffer, string> {
  const allowed = `at least ${bytes} bytes`
  const problem = `must be base64 of ${allowed}`
  return parsed({ form: 'base64', allowed, secret: true, problem }, (value) => {
    const key = Buffer.from(value, 'base64')
    return /^[A-Za-z0-9+/_-]+={0,2}$/.test(value) && key.length >= bytes ? key : undefined
  })
}

/** An integer between two bounds, which are allowed. `form` names the unit if there is one, such as seconds. */
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

/** true/false, 1/0, t/f, yes/no, y/n in any case. */
export function flag(): z.ZodType<boolean, string> {
  return parsed({ form: 'flag', problem: 'must be true or false' }, (value) => {
    const word = value.toLowerCase()
    if (['true', '1', 't', 'yes', 'y'].includes(word)) return true
    return ['false', '0', 'f', 'no', 'n'].includes(word) ? false : undefined
  })
}

/** The proxies in front: their number, or a comma-separated list of their addresses and networks. */
export function trustedProxies(): z.ZodType<TrustedProxies, string> {
  const problem = 'must be a number of proxies up to 99, or addresses and networks such as 10.0.0.0/8, joined by commas'
  return parsed({ form: 'number up to 99, or list of addresses and networks', problem }, parseTrustedProxies)
}

/** An absolute URL with one of the schemes, as it was written. */
export function url(...schemes: readonly string[]): z.ZodType<string, string> {
  const taken = schemes.length === 0 ? ['http', 'https'] : schemes
  const starts = taken.map((scheme) => `${scheme}://`).join(' or ')
  const form = schemes.length === 0 ? 'URL' : `${starts} URL`
  return parsed({ form, problem: `must be an absolute URL (${starts})` }, (value) => {
    const address = URL.parse(value)
    return address?.host && taken.includes(address.protocol.slice(0, -1)) ? value : undefined
  })
}

/** A setting that takes one of the given words, in any case. The value is spelled as in the list. */
export function oneOf<const Word extends string>(...words: readonly Word[]): z.ZodType<Word, string> {
  const allowed = words.join(', ')
  return parsed({ form: 'one of', allowed, problem: `must be one of ${allowed}` }, (value) =>
    words.find((candidate) => candidate.toLowerCase() === value.toLowerCase()),
  )
}

/** Comma-separated words, trimmed, empty ones dropped. */
export function commaList(): z.ZodType<readonly string[], string> {
  return z.string().meta({ form: 'list' }).transform(splitList)
}

function splitList(value: string): readonly string[] {
  return value
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '')
}

/** A duration in milliseconds: Go style (`300ms`, `1.5h`, `2h45m`) or a bare number of seconds. */
export function duration(): z.ZodType<number, string> {
  const problem = 'must be a duration such as 300ms, 1.5h, 2h45m, or a number of seconds'
  return parsed({ form: 'duration', problem }, parseDuration)
}
