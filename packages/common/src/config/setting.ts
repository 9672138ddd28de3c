import { z } from 'zod'
import { parseTrustedProxies, type TrustedProxies } from '../server/trusted-proxies.ts'

/** A setting: reads text, undefined when unset. Messages say what the value must be; the loader adds name and value. */
export type Setting<T = unknown> = z.ZodType<T, unknown>

const UNIT_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
}
const DURATION = /^(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h)/

/** Any text that is not empty. */
export function text(): z.ZodType<string, string> {
  return z.string()
}

/** Text that no message may show: passwords, keys, tokens. */
export function secret(rule: z.ZodType<string, string> = z.string()): z.ZodType<string, string> {
  return rule.meta({ secret: true })
}

/** Base64 (plain or URL alphabet) of at least `bytes` bytes, as a Buffer. Never shown. */
export function secretBytes(bytes: number): z.ZodType<Buffer, string> {
  return z
    .string()
    .meta({ secret: true })
    .transform((value, context) => {
      const key = Buffer.from(value, 'base64')
      if (/^[A-Za-z0-9+/_-]+={0,2}$/.test(value) && key.length >= bytes) return key
      return refuse(context, `must be base64 of at least ${bytes} bytes`)
    })
}

/** An integer between bounds, both allowed. */
export function integer(min = 0, max = Number.MAX_SAFE_INTEGER): z.ZodType<number, string> {
  const wanted =
    max === Number.MAX_SAFE_INTEGER
      ? min === 1
        ? 'must be a positive integer'
        : `must be an integer of at least ${min}`
      : `must be an integer between ${min} and ${max}`
  return z.string().transform((value, context) => {
    const number = /^-?\d{1,15}$/.test(value) ? Number(value) : Number.NaN
    return number >= min && number <= max ? number : refuse(context, wanted)
  })
}

/** A TCP port; 0 lets the system choose. */
export function port(): z.ZodType<number, string> {
  return z.string().transform((value, context) => {
    const number = /^\d{1,5}$/.test(value) ? Number(value) : Number.NaN
    return number <= 65_535 ? number : refuse(context, 'must be a port between 0 and 65535')
  })
}

/** true/false, 1/0, t/f, yes/no, y/n in any case. */
export function flag(): z.ZodType<boolean, string> {
  return z.string().transform((value, context) => {
    const word = value.toLowerCase()
    if (['true', '1', 't', 'yes', 'y'].includes(word)) return true
    return ['false', '0', 'f', 'no', 'n'].includes(word) ? false : refuse(context, 'must be true or false')
  })
}

/** The proxies in front: how many, or a comma list of their addresses and networks. */
export function trustedProxies(): z.ZodType<TrustedProxies, string> {
  return z.string().transform((value, context) => {
    const wanted =
      'must be a number of proxies up to 99, or addresses and networks such as 10.0.0.0/8, joined by commas'
    return parseTrustedProxies(value) ?? refuse(context, wanted)
  })
}

/** An absolute URL with one of the schemes, as it was written. */
export function url(...schemes: readonly string[]): z.ZodType<string, string> {
  const allowed = schemes.length === 0 ? ['http', 'https'] : schemes
  return z.string().transform((value, context) => {
    const parsed = URL.parse(value)
    if (parsed?.host && allowed.includes(parsed.protocol.slice(0, -1))) return value
    return refuse(context, `must be an absolute URL (${allowed.map((scheme) => `${scheme}://`).join(' or ')})`)
  })
}

/** A PostgreSQL connection string. Never shown: it carries a password. */
export function databaseUrl(): z.ZodType<string, string> {
  return z
    .string()
    .meta({ secret: true })
    .transform((value, context) =>
      /^postgres(ql)?:\/\//.test(value) && URL.canParse(value)
        ? value
        : refuse(context, 'must be a postgres:// connection string'),
    )
}

/** One of the given words, in any case, as listed. */
export function oneOf<const Word extends string>(...words: readonly Word[]): z.ZodType<Word, string> {
  return z.string().transform((value, context) => {
    const word = words.find((candidate) => candidate.toLowerCase() === value.toLowerCase())
    return word ?? refuse(context, `must be one of ${words.join(', ')}`)
  })
}

/** Comma-separated words, trimmed, empty ones dropped. */
export function commaList(): z.ZodType<readonly string[], string> {
  return z.string().transform((value) => splitList(value))
}

/** The words of a comma list. */
function splitList(value: string): readonly string[] {
  return value
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '')
}

/** A duration in milliseconds: Go style (`300ms`, `1.5h`, `2h45m`) or a bare number of seconds. */
export function duration(): z.ZodType<number, string> {
  return z.string().transform((value, context) => {
    const ms = parseDuration(value)
    return ms ?? refuse(context, 'must be a duration such as 300ms, 1.5h, 2h45m, or a number of seconds')
  })
}

/** Milliseconds of a duration, or undefined when it is none. */
export function parseDuration(value: string): number | undefined {
  if (/^\d+(\.\d+)?$/.test(value)) return Number(value) * 1_000
  let rest = value
  let ms = 0
  while (rest !== '') {
    const part = DURATION.exec(rest)?.[0]
    if (part === undefined) return undefined
    const unit = part.replace(/^[\d.]+/, '')
    ms += Number.parseFloat(part) * (UNIT_MS[unit] ?? Number.NaN)
    rest = rest.slice(part.length)
  }
  return value === '' ? undefined : ms
}

/** How far a standby may be behind and still be asked: a duration of at least 2 s, since it is looked at once a second. */
export function lagMax(): z.ZodType<number, string> {
  return z.string().transform((value, context) => {
    const ms = parseDuration(value)
    return ms !== undefined && ms >= LAG_LEAST_MS ? ms : refuse(context, 'must be a duration of at least 2s')
  })
}

const LAG_LEAST_MS = 2_000

function refuse(context: z.RefinementCtx, message: string): never {
  context.addIssue({ code: 'custom', message })
  return z.NEVER
}
