import { isIP } from 'node:net'
import { parseDuration } from '@trestle/common/config/duration.ts'
import { commaList, integer, parsed } from '@trestle/common/config/setting.ts'
import { z } from 'zod'
import { compileGlob, exactGlob, type Glob } from '../flows/glob.ts'
import type { CompatibilityOptions, CompatibilityProfile } from './compatibility.ts'

export interface ProfileValues {
  readonly PROFILE: CompatibilityProfile
}

/** The number of messages per time: `points` in each window of `windowMs`. With 0 points, none are sent. */
export interface Rate {
  readonly points: number
  readonly windowMs: number
}

const HOUR_MS = 3_600_000

/** A number or `off`. 0 means `off` too. `undefined` means no limit. */
export function limit(): z.ZodType<number | 'off', string> {
  return parsed({ form: 'number or off', problem: 'must be a number or off' }, (value) => {
    if (value.toLowerCase() === 'off') return 'off'
    if (!/^\d{1,9}(\.\d{1,6})?$/.test(value)) return undefined
    return Number(value) === 0 ? 'off' : Number(value)
  })
}

/** A number is that many messages per fixed hour, `N/duration` one per duration with a burst of N, `off` no limit. */
export function rate(): z.ZodType<Rate | 'off', string> {
  const problem = 'must be a number per hour, N/duration such as 30/1m, or off'
  return parsed({ form: 'number an hour, `N/duration` such as `30/1m`, or off', problem }, (value) => {
    if (value.toLowerCase() === 'off') return 'off'
    const [, points, every] = /^(\d{1,9})(?:\/(.+))?$/.exec(value) ?? []
    const everyMs = every === undefined ? undefined : parseDuration(every)
    if (points === undefined || (every !== undefined && !(everyMs !== undefined && everyMs > 0))) return undefined
    return { points: Number(points), windowMs: everyMs === undefined ? HOUR_MS : Number(points) * everyMs }
  })
}

const MINUTE_MS = 60_000

/** Returns the shortest time between two messages. */
export function messageIntervalMs(
  ms: number,
  { treatZeroFrequencyAsUnset }: Pick<CompatibilityOptions, 'treatZeroFrequencyAsUnset'>,
): number {
  return ms === 0 && treatZeroFrequencyAsUnset ? MINUTE_MS : ms
}

/** How long rows are kept: a duration of at least an hour, or `off` for ever. */
export function retention(): z.ZodType<number | 'off', string> {
  const problem = 'must be a duration of at least 1h, or off'
  return parsed({ form: 'duration or off', allowed: 'at least 1h', problem }, (value) => {
    if (value.toLowerCase() === 'off') return 'off'
    const ms = parseDuration(value)
    return ms !== undefined && ms >= HOUR_MS ? ms : undefined
  })
}

/** Host names, addresses and CIDR networks. */
export function hostList(): z.ZodType<readonly string[], string> {
  const error = 'must be a list of hosts and networks such as 10.0.0.0/8'
  return commaList()
    .refine((entries) => entries.every(isHostOrNetwork), { error })
    .meta({ form: 'list of hosts and networks' })
}

function isHostOrNetwork(entry: string): boolean {
  const [host = '', bits, ...rest] = entry.split('/')
  const version = isIP(host)
  if (bits === undefined) return version !== 0 || /^[a-z0-9._-]+$/i.test(host)
  return version !== 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128) && rest.length === 0
}

/** An absolute URI of any scheme, with a host. */
export function absoluteUri(): z.ZodType<string, string> {
  return parsed({ form: 'URI', problem: 'must be an absolute URI with scheme and host' }, (value) =>
    URL.parse(value)?.host && !/[\s\\]/.test(value) ? value : undefined,
  )
}

/** A path or a URL. A path is resolved against a base. */
export function urlReference(): z.ZodType<string, string> {
  return parsed({ form: 'path or URL', problem: 'must be a path or a URL' }, (value) =>
    URL.canParse(value, 'http://localhost') ? value : undefined,
  )
}

/** The lifetime of a code in seconds. At most ten years, so that its end is a valid date. */
export function lifetimeSeconds(max = 315_360_000): z.ZodType<number, string> {
  return integer(1, max, 'seconds')
}

/** The compiled globs of URI_ALLOW_LIST. A comma inside braces does not separate two globs. */
export function globList(): z.ZodType<readonly Glob[], string> {
  return z
    .string()
    .meta({ form: 'list of globs' })
    .transform((value, context) => {
      try {
        return splitGlobs(value === '[]' ? '' : value).map(compileGlob)
      } catch (error) {
        return refuse(context, `has a bad glob: ${error instanceof Error ? error.message : String(error)}`)
      }
    })
}

/** Complete URLs. Each matches only itself. */
export function addressList(): z.ZodType<readonly Glob[], string> {
  const problem = 'must be a list of whole addresses: the strict profile takes no globs'
  return parsed({ form: 'list of whole addresses', problem }, (value) => {
    const addresses = splitGlobs(value === '[]' ? '' : value)
    const isWhole = (address: string) => URL.canParse(address) && !/[*{}]/.test(address)
    return addresses.every(isWhole) ? addresses.map(exactGlob) : undefined
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

/** The number of digits of a code, 6 to 10. Other numbers count as 6. */
export function codeLength(): z.ZodType<number, string> {
  return parsed({ form: 'whole number', allowed: '6 to 10', problem: 'must be an integer' }, (value) => {
    if (!/^-?\d{1,9}$/.test(value)) return undefined
    const digits = Number(value)
    return digits >= 6 && digits <= 10 ? digits : 6
  })
}

/** Text in the syntax of mail-template.ts. The built-in text replaces an invalid template (`templateProblems`). */
export function templateText(): z.ZodType<string, string> {
  return z.string().meta({ form: 'template' })
}

function refuse(context: z.RefinementCtx, message: string): never {
  context.addIssue({ code: 'custom', message })
  return z.NEVER
}

const HeaderLists = z.record(z.string().regex(/^[A-Za-z0-9-]+$/), z.array(z.string().regex(/^[^\r\n]*$/)))

export function mailHeaders(): z.ZodType<Readonly<Record<string, readonly string[]>>, string> {
  const form = 'JSON object of header names to lists of values'
  return parsed({ form, problem: `must be a ${form}` }, (value) => {
    try {
      return HeaderLists.parse(JSON.parse(value))
    } catch {
      return undefined
    }
  })
}
