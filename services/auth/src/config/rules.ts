import { integer, parseDuration } from '@trestle/common/config/setting.ts'
import { z } from 'zod'
import { parseTemplate, type Template } from '../mail/mail-template.ts'
import { compileGlob, exactGlob, type Glob } from '../redirects/glob.ts'

/** How many messages may go out: `points` in each window of `windowMs`. `points` 0 lets none out. */
export interface Rate {
  readonly points: number
  readonly windowMs: number
}

const HOUR_MS = 3_600_000

/** A number of at least 0, or `off` (also for 0, which means nothing else here). Undefined is no limit. */
export function limit(): z.ZodType<number | 'off', string> {
  return z.string().transform((value, context) => {
    if (value.toLowerCase() === 'off') return 'off' as const
    if (/^\d{1,9}(\.\d{1,6})?$/.test(value)) return Number(value) === 0 ? ('off' as const) : Number(value)
    return refuse(context, 'must be a number or off')
  })
}

/** Messages: a number is that many in a fixed hour, `N/duration` one per duration with a burst of N, `off` no limit. */
export function rate(): z.ZodType<Rate | 'off', string> {
  return z.string().transform((value, context) => {
    if (value.toLowerCase() === 'off') return 'off' as const
    const [, points, every] = /^(\d{1,9})(?:\/(.+))?$/.exec(value) ?? []
    const everyMs = every === undefined ? undefined : parseDuration(every)
    if (points === undefined || (every !== undefined && !(everyMs !== undefined && everyMs > 0))) {
      return refuse(context, 'must be a number per hour, N/duration such as 30/1m, or off')
    }
    return { points: Number(points), windowMs: everyMs === undefined ? HOUR_MS : Number(points) * everyMs }
  })
}

/** How long something is kept: a duration of at least an hour, or `off`: for ever. */
export function retention(): z.ZodType<number | 'off', string> {
  return z.string().transform((value, context) => {
    if (value.toLowerCase() === 'off') return 'off' as const
    const ms = parseDuration(value)
    if (ms !== undefined && ms >= HOUR_MS) return ms
    return refuse(context, 'must be a duration of at least 1h, or off')
  })
}

/** An absolute URI of any scheme, with a host. */
export function absoluteUri(): z.ZodType<string, string> {
  return z.string().transform((value, context) => {
    const parsed = URL.parse(value)
    if (parsed?.host && !/[\s\\]/.test(value)) return value
    return refuse(context, 'must be an absolute URI with scheme and host')
  })
}

/** A path or URL, to be resolved against a base. */
export function urlReference(): z.ZodType<string, string> {
  return z
    .string()
    .transform((value, context) =>
      URL.canParse(value, 'http://localhost') ? value : refuse(context, 'must be a path or a URL'),
    )
}

/** Seconds that a code lives: ten years at most, beyond any use, so that its end is a date that can be written. */
export function lifetimeSeconds(): z.ZodType<number, string> {
  return integer(1, 315_360_000)
}

/** Globs of URI_ALLOW_LIST, compiled. Commas inside braces do not separate. */
export function globList(): z.ZodType<readonly Glob[], string> {
  return z.string().transform((value, context) => {
    try {
      return splitGlobs(value === '[]' ? '' : value).map(compileGlob)
    } catch (error) {
      return refuse(context, `has a bad glob: ${error instanceof Error ? error.message : String(error)}`)
    }
  })
}

/** Whole addresses, each of which matches itself alone. */
export function addressList(): z.ZodType<readonly Glob[], string> {
  return z.string().transform((value, context) => {
    const addresses = splitGlobs(value === '[]' ? '' : value)
    if (addresses.every((address) => URL.canParse(address) && !/[*{}]/.test(address))) return addresses.map(exactGlob)
    return refuse(context, 'must be a list of whole addresses: the strict profile takes no globs')
  })
}

function splitGlobs(value: string): readonly string[] {
  const globs: string[] = []
  let depth = 0
  let current = ''
  for (const character of value) {
    if (character === '{') depth += 1
    if (character === '}') depth -= 1
    if (character === ',' && depth <= 0) {
      globs.push(current)
      current = ''
    } else current += character
  }
  return [...globs, current].map((glob) => glob.trim()).filter((glob) => glob !== '')
}

/** Digits of a one-time code: 6 where the number is outside 6 to 10. */
export function codeLength(): z.ZodType<number, string> {
  return z.string().transform((value, context) => {
    if (!/^-?\d{1,9}$/.test(value)) return refuse(context, 'must be an integer')
    const digits = Number(value)
    return digits >= 6 && digits <= 10 ? digits : 6
  })
}

/** A text in the language of mail-template.ts. */
export function templateText(): z.ZodType<Template, string> {
  return z.string().transform((value, context) => {
    try {
      return parseTemplate(value)
    } catch (error) {
      return refuse(context, `is no template: ${error instanceof Error ? error.message : String(error)}`)
    }
  })
}

/** Text that must match a pattern; `wanted` completes the sentence "must be …". */
export function matching(pattern: RegExp, wanted: string): z.ZodType<string, string> {
  return z.string().transform((value, context) => (pattern.test(value) ? value : refuse(context, `must be ${wanted}`)))
}

/** One setting under each of several names. */
export function sameSetting<Name extends string, S>(names: readonly Name[], setting: S): { readonly [N in Name]: S } {
  // The entries are exactly the names.
  return Object.fromEntries(names.map((name) => [name, setting])) as { [N in Name]: S }
}

function refuse(context: z.RefinementCtx, message: string): never {
  context.addIssue({ code: 'custom', message })
  return z.NEVER
}
