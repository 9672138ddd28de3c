import { existsSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { ConfigError, findCutValues, readText, requireWholeValues } from '@trestle/common/config/environment.ts'
import type { Settings } from '@trestle/common/config/setting.ts'
import { metaOf } from '@trestle/common/config/setting-description.ts'
import { namesOfSettings } from '@trestle/common/config/unknown-settings.ts'
import { findSuggestion } from '@trestle/common/errors/suggestion.ts'
import { printable } from '@trestle/common/lifecycle/printable.ts'
import { parseDocument } from 'yaml'
import { z } from 'zod'
import { findWithoutEffect, isHarmless, PREFIXES } from '../config/profile.ts'
import { type AuthConfig, loadAuthConfig, readSettings } from '../config.ts'

/** The verdict on a variable. Only the last three are problems. */
type Verdict = 'taken' | 'differs' | 'unset' | 'ignored' | 'unsafe' | 'unknown' | 'wrong'

interface Judged {
  readonly verdict: Verdict
  readonly text: string
}

/** The settings of supabase/auth whose meaning differs here, with the values for which it differs. */
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
  [/^SECURITY_DATABASE_ENCRYPTION_/, /./, 'the keys encrypt every secret, in a form of their own'],
]

/**
 * Prints for each setting of a Supabase installation whether it has the same meaning, another meaning or no effect, and whether
 * it is safe. Opens no connection. Returns `false` if the service would not start, or if a setting is lost.
 * @throws Error the errors of `readInstallation`. Never the ConfigError of `readSettings`, because no file is read
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
    // Do not read the `.env` of the working directory, because it does not belong to the installation.
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
  /** All names of each setting. The first name takes precedence. */
  readonly names: ReadonlyMap<string, readonly string[]>
}

/** Judges a variable. Returns `undefined` if the variable is not a setting of either service. */
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
    const meant = findSuggestion(name, known)
    return { verdict: 'unknown', text: meant === undefined ? name : `${name}, did you mean ${meant}?` }
  }
  const isSafe = isHarmless(setting, value)
  return { verdict: isSafe ? 'ignored' : 'unsafe', text: `${name}: ${isSafe ? 'safe, ' : ''}${setting.instead}` }
}

/** The settings of the service `auth` in a Supabase installation. */
export interface Installation {
  /** The variables in the order of the file. Values are expanded. A variable with an empty value is kept. */
  readonly variables: ReadonlyMap<string, string>
  /** The place of the settings, for the operator. */
  readonly origin: string
  /** Variables that the Compose file uses but that are not set. They are empty. */
  readonly unset: readonly string[]
}

type Variables = Readonly<Record<string, string>>

const COMPOSE_FILES = ['compose.yaml', 'compose.yml', 'docker-compose.yaml', 'docker-compose.yml'] as const
const Scalar = z.union([z.string(), z.number(), z.boolean(), z.null()])
const EnvFile = z.union([
  z.string().transform((path) => ({ path, required: true })),
  z.object({ path: z.string(), required: z.boolean().default(true) }),
])
const Service = z.object({
  image: z.string().default(''),
  environment: z.union([z.record(z.string(), Scalar), z.array(z.string())]).default({}),
  env_file: z.union([EnvFile.transform((file) => [file]), z.array(EnvFile)]).default([]),
})
const Compose = z.object({ services: z.record(z.string(), z.unknown()) })

/**
 * Reads a Compose file, or an env file. In a Compose file, `${…}` is expanded from the `.env` in the same folder. If an env file
 * has no settings of supabase/auth, the Compose file in the same folder is read with it.
 * @throws Error if a file cannot be read, is not a Compose file, or has no settings of supabase/auth
 * @throws ConfigError if the service would refuse an env file because of a value that would be cut off
 */
export function readInstallation(path: string): Installation {
  if (/\.ya?ml$/i.test(path)) {
    const env = join(dirname(path), '.env')
    return readCompose(path, existsSync(env) ? readEnv(env) : {})
  }
  const variables = readEnv(path)
  if (Object.keys(variables).some(isOfService)) {
    // The service itself can read such a file.
    requireWholeValues(path, readText(path))
    return { variables: new Map(Object.entries(variables)), origin: basename(path), unset: [] }
  }
  const compose = COMPOSE_FILES.map((name) => join(dirname(path), name)).find((file) => existsSync(file))
  if (compose === undefined)
    throw new Error(`${path} has no name that begins with GOTRUE_, and no Compose file is beside it`)
  return readCompose(compose, variables)
}

function isOfService(name: string): boolean {
  return Object.values(PREFIXES).some((prefix) => name.startsWith(prefix))
}

/** Reads an env file like Compose, which does not cut a value at a `#` without a space before it. */
function readEnv(path: string): Variables {
  const text = readText(path)
  const entries = Object.entries({ ...parseEnv(text), ...Object.fromEntries(findCutValues(text)) })
  return Object.fromEntries(entries.map(([name, value]) => [name, value ?? '']))
}

function readCompose(path: string, variables: Variables): Installation {
  const services = readServices(path)
  // Search for several signs, because other services may have variables that begin with AUTH_.
  const found = SIGNS.map((isAuth) => services.find(([name, service]) => isAuth(name, service))).find(Boolean)
  if (found === undefined) throw new Error(`${path} has no service with settings of supabase/auth`)
  const [name, service] = found
  const unset = new Set<string>()
  const expandValue = (text: string) => expand(text, variables, (variable) => unset.add(variable))
  const result = new Map<string, string>()
  for (const file of service.env_file) {
    const place = resolve(dirname(path), expandValue(file.path))
    if (!file.required && !existsSync(place)) continue
    for (const entry of Object.entries(readEnv(place))) result.set(...entry)
  }
  for (const [variable, written] of listEnvironment(service.environment)) {
    // A variable without a value gets its value from the shell or the env file.
    const value = written === undefined ? variables[variable] : expandValue(written)
    if (value !== undefined) result.set(variable, value)
  }
  return { variables: result, origin: `service ${name} of ${basename(path)}`, unset: [...unset] }
}

/** The signs of the service `auth` in a Compose file, the most reliable first. */
const SIGNS: readonly ((name: string, service: z.output<typeof Service>) => boolean)[] = [
  (_name, { image }) => /gotrue|supabase\/auth|trestle[-/]auth/.test(image),
  (_name, { environment }) =>
    listEnvironment(environment).some(([variable]) => variable.startsWith(PREFIXES.otherPrefix)),
  (name) => name === 'auth',
]

function readServices(path: string): readonly (readonly [string, z.output<typeof Service>])[] {
  const document = parseDocument(readText(path), { merge: true })
  const [mistake] = document.errors
  if (mistake !== undefined) throw new Error(`${path} is no Compose file: ${mistake.message.split('\n')[0]}`)
  const compose = Compose.safeParse(document.toJS())
  if (!compose.success) throw new Error(`${path} is no Compose file: it has no services`)
  return Object.entries(compose.data.services).flatMap(([name, value]) => {
    const service = Service.safeParse(value)
    return service.success ? [[name, service.data] as const] : []
  })
}

function listEnvironment(
  environment: z.output<typeof Service>['environment'],
): readonly (readonly [string, string | undefined])[] {
  if (!Array.isArray(environment))
    return Object.entries(environment).map(([name, value]) => [name, value === null ? undefined : String(value)])
  return environment.map((line) => {
    const [name = '', ...value] = line.split('=')
    return [name, line.includes('=') ? value.join('=') : undefined]
  })
}

/** `$$`, `$NAME`, or the beginning of `${NAME}` with the operator after the name. */
const REFERENCE = /\$(?:\$|([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(:?[-?+])?)/

/** Expands variables like Compose. @param onUnset called for each variable without a value and a default */
function expand(text: string, variables: Variables, onUnset: (name: string) => void): string {
  const match = REFERENCE.exec(text)
  if (match === null) return text
  const [whole, plain, braced, operator] = match
  const rest = text.slice(match.index + whole.length)
  const head = text.slice(0, match.index)
  if (plain === undefined && braced === undefined) return `${head}$${expand(rest, variables, onUnset)}`
  if (braced === undefined) return head + lookUp(plain ?? '', variables, onUnset) + expand(rest, variables, onUnset)
  const end = findEnd(rest)
  const word = expand(rest.slice(0, end), variables, () => {})
  const tail = expand(rest.slice(end + 1), variables, onUnset)
  const value = variables[braced]
  const isSet = value !== undefined && !(operator?.startsWith(':') && value === '')
  if (operator?.endsWith('+')) return head + (isSet ? word : '') + tail
  if (isSet) return head + value + tail
  return head + (operator?.endsWith('-') ? word : lookUp(braced, {}, onUnset)) + tail
}

function lookUp(name: string, variables: Variables, onUnset: (name: string) => void): string {
  const value = variables[name]
  if (value === undefined) onUnset(name)
  return value ?? ''
}

/** Finds the end of a block. The opening brace precedes the text. */
function findEnd(text: string): number {
  let depth = 0
  for (let at = 0; at < text.length; at += 1) {
    if (text.startsWith('${', at)) depth += 1
    if (text[at] !== '}') continue
    if (depth === 0) return at
    depth -= 1
  }
  return text.length
}
