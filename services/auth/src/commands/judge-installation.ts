import { ConfigError } from '@trestle/common/config/environment.ts'
import type { Settings } from '@trestle/common/config/setting.ts'
import { metaOf } from '@trestle/common/config/setting-description.ts'
import { namesOfSettings } from '@trestle/common/config/unknown-settings.ts'
import { findMeantWord } from '@trestle/common/errors/meant-word.ts'
import { printable } from '@trestle/common/lifecycle/printable.ts'
import { findWithoutEffect, isHarmless, PREFIXES } from '../config/profile.ts'
import { type AuthConfig, loadAuthConfig, readSettings } from '../config.ts'
import { readInstallation } from './read-installation.ts'

/** The verdict on a variable. Only the last three are bad news. */
type Verdict = 'taken' | 'differs' | 'unset' | 'ignored' | 'unsafe' | 'unknown' | 'wrong'

interface Judged {
  readonly verdict: Verdict
  readonly text: string
}

/** The settings of supabase/auth that mean something else here, and the values that do. */
const DIFFERENT: readonly (readonly [name: RegExp, value: RegExp, meaning: string])[] = [
  [
    /^(MIGRATION_)?DATABASE_URL$|^DB_DATABASE_URL$/,
    /[?&]sslmode=(require|prefer|allow|verify-ca)(&|#|$)/,
    'this sslmode verifies the certificate, and no-verify encrypts without',
  ],
  [/^DB_CLEANUP_ENABLED$/, /^(true|1|t)$/i, 'anonymous users stay, unless AUTH_ANONYMOUS_USER_RETENTION is set'],
  [/^DB_MAX_POOL_SIZE$/, /^0$/, '0 is 16 connections, not any number of them'],
  [
    /^RATE_LIMIT_HEADER$/,
    /^x-forwarded-for$/i,
    'the header is read from the right, as far as AUTH_TRUSTED_PROXIES goes',
  ],
  [/^RATE_LIMIT_HEADER$/, /./, 'the whole header is the key of a client, not its first entry'],
  [/^(MFA_)?RATE_LIMIT_(?!HEADER|EMAIL|SMS)/, /^0(\.0+)?$/, '0 lifts the limit'],
  [/^METRICS_ENABLED$/, /^(true|1|t)$/i, 'metrics have the names of this service'],
  [/^SECURITY_DATABASE_ENCRYPTION_/, /./, 'the keys seal every secret, in a form of their own'],
]

/**
 * Prints what becomes of each setting of an installation of Supabase: taken, taken with another meaning, or without effect, and
 * whether that is safe. Calls nobody. Returns false when the service would not start, or something is lost.
 * @throws Error what `readInstallation` throws, and ConfigError of `readSettings` never, since it reads no file
 */
export function judgeInstallation(path: string, print: (line: string) => void): boolean {
  const { variables, origin, unset } = readInstallation(path)
  const env = Object.fromEntries(variables)
  const { config, problems } = tryLoad(env)
  print(`settings of ${origin}:`)
  const settings = readSettings(env)
  const context = { env, problems, settings, names: namesOfSettings(settings, PREFIXES) }
  const judged = [...variables].flatMap(([name, value]) => judgeSetting(name, value, context) ?? [])
  for (const { verdict, text } of judged) print(printable(`${verdict.padEnd(8)}${text}`))
  const printed = new Set(judged.map(({ text }) => text))
  const others = problems.filter((problem) => !printed.has(problem))
  for (const problem of others) print(printable(`wrong   ${problem}`))
  for (const name of unset) print(printable(`note    $${name} is set nowhere, and counts as empty`))
  const named = /^(unknown setting|without effect:) /
  for (const line of [...(config?.notes ?? []), ...(config?.warnings ?? [])].filter((each) => !named.test(each)))
    print(printable(`note    ${line}`))
  const count = (...verdicts: readonly Verdict[]) => judged.filter(({ verdict }) => verdicts.includes(verdict)).length
  const lost = count('unsafe', 'unknown')
  print(
    config
      ? `ok      the service starts with these settings`
      : 'wrong   the service does not start with these settings',
  )
  if (lost > 0) print(`wrong   ${lost} of them ${lost === 1 ? 'matters and has' : 'matter and have'} no effect`)
  return config !== undefined && lost === 0
}

function tryLoad(env: NodeJS.ProcessEnv): {
  readonly config: AuthConfig | undefined
  readonly problems: readonly string[]
} {
  try {
    // The .env of the working directory does not belong to the installation.
    return { config: loadAuthConfig(env), problems: [] }
  } catch (error) {
    if (error instanceof ConfigError) return { config: undefined, problems: error.problems }
    throw error
  }
}

interface Context {
  readonly env: NodeJS.ProcessEnv
  readonly problems: readonly string[]
  readonly settings: Settings
  /** The names of each setting, the first of which counts. */
  readonly names: ReadonlyMap<string, readonly string[]>
}

/** Undefined for a variable that is no setting of either service. */
function judgeSetting(name: string, value: string, { env, problems, settings, names }: Context): Judged | undefined {
  const [setting, all = []] = [...names].find(([, each]) => each.includes(name)) ?? []
  const problem = problems.find((each) => each.startsWith(`${name} `))
  if (problem !== undefined) return { verdict: 'wrong', text: problem }
  if (setting === undefined) return judgeUnread(name, value, [...names.values()].flat())
  if (value === '') return { verdict: 'unset', text: `${name} is empty` }
  const winner = all.find((each) => env[each])
  if (winner !== name) return { verdict: 'unset', text: `${name}: ${winner} counts` }
  if (metaOf(settings[setting]).group?.title === 'Without effect') {
    return setting.endsWith('_URL')
      ? { verdict: 'unsafe', text: `${name}: the provider has one address` }
      : { verdict: 'ignored', text: `${name}: safe, nothing reads it` }
  }
  const own = `${PREFIXES.prefix}${setting}`
  const different = DIFFERENT.find(([pattern, values]) => pattern.test(setting) && values.test(value))
  if (different) return { verdict: 'differs', text: `${name} as ${own}: ${different[2]}` }
  return {
    verdict: 'taken',
    text: name === own || name === `${PREFIXES.otherPrefix}${setting}` ? name : `${name} as ${own}`,
  }
}

function judgeUnread(name: string, value: string, known: readonly string[]): Judged | undefined {
  if (!Object.values(PREFIXES).some((prefix) => name.startsWith(prefix))) return undefined
  const setting = findWithoutEffect(name)
  if (setting === undefined) {
    const meant = findMeantWord(name, known)
    return { verdict: 'unknown', text: meant === undefined ? name : `${name}, did you mean ${meant}?` }
  }
  const isSafe = isHarmless(setting, value)
  return { verdict: isSafe ? 'ignored' : 'unsafe', text: `${name}: ${isSafe ? 'safe, ' : ''}${setting.instead}` }
}
