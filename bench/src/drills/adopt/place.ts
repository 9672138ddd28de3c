import { join } from 'node:path'
import { freePort } from '@trestle/testing/free-port.ts'
import { z } from 'zod'
import type { ServerKind } from '../../compare-servers/servers.ts'
import { SECRET } from '../../compare-servers/tokens.ts'
import { ROOT } from '../../program.ts'
import { execute } from '../../servers/database.ts'
import { runProgram } from '../../servers/run-program.ts'

/** A database that moves from the old service to the new one and back, with the programs of both. */
export interface Place {
  readonly databaseUrl: string
  readonly theirs: ServerKind
  readonly ours: ServerKind
  /** The settings of both services, by name without prefix. The environment stays when the image is replaced. */
  readonly env: Readonly<Record<string, string>>
}

interface Running extends AsyncDisposable {
  readonly url: string
  stop(): Promise<void>
  kill(): Promise<void>
}

const SETTINGS = {
  JWT_SECRET: SECRET,
  JWT_ADMIN_ROLES: 'supabase_admin,service_role',
  JWT_DEFAULT_GROUP_NAME: 'authenticated',
  API_HOST: '127.0.0.1',
  SITE_URL: 'http://localhost:3000',
  MAILER_AUTOCONFIRM: 'true',
  RATE_LIMIT_TOKEN_REFRESH: '1000000',
  RATE_LIMIT_OTP: '1000000',
  // Versions before 2.70 disable second factors by default.
  MFA_ENABLED: 'true',
  MFA_RATE_LIMIT_CHALLENGE_AND_VERIFY: '1000000',
} as const

const KEY = Buffer.alloc(32, 'k').toString('base64url')
const ENCRYPTION = {
  SECURITY_DB_ENCRYPTION_ENCRYPT: 'true',
  SECURITY_DB_ENCRYPTION_ENCRYPTION_KEY_ID: 'key-1',
  SECURITY_DB_ENCRYPTION_ENCRYPTION_KEY: KEY,
  SECURITY_DB_ENCRYPTION_DECRYPTION_KEYS: `key-1:${KEY}`,
} as const

/** The differences between installations of the old service. */
export interface Variant {
  /** The form of the refresh tokens. */
  readonly form: '1' | '2'
  /** Whether passwords, secrets of factors and keys of sessions are encrypted. */
  readonly encrypted: boolean
  /** Whether GOTRUE_JWT_AUD is set. Without it, users have the empty audience. */
  readonly audience: boolean
}

/** The environment of a variant, by names without a prefix. */
export function environmentOf({ form, encrypted, audience }: Variant): Place['env'] {
  return {
    ...SETTINGS,
    SECURITY_REFRESH_TOKEN_ALGORITHM_VERSION: form,
    ...(encrypted ? ENCRYPTION : {}),
    ...(audience ? { JWT_AUD: 'authenticated' } : {}),
  }
}

export async function start(place: Place, kind: ServerKind): Promise<Running> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const env = { ...kind.environment(place.databaseUrl, port), ...underNames(place.env), API_EXTERNAL_URL: url }
  const server = await kind.start(env, url)
  const stop = () => server.stop()
  return { url, stop, kill: () => server.kill(), [Symbol.asyncDispose]: stop }
}

/** Both services read the setting names of the old service. */
function underNames(env: Place['env']): Place['env'] {
  return Object.fromEntries(Object.entries(env).map(([name, value]) => [`GOTRUE_${name}`, value]))
}

/** How to run `auth`: the program, the arguments before those of the command, and the environment. */
export function commandOf({ databaseUrl, ours, env }: Place): {
  readonly program: string
  readonly entry: string
  readonly env: Readonly<Record<string, string>>
} {
  return {
    program: process.execPath,
    entry: join(ROOT, 'services', 'auth', 'src', 'main.ts'),
    env: { ...ours.environment(databaseUrl, 0), ...underNames(env), API_EXTERNAL_URL: 'http://localhost' },
  }
}

export function adopt(place: Place, ...flags: readonly string[]): Promise<string> {
  const { program, entry, env } = commandOf(place)
  return runProgram({ program, args: [entry, 'adopt', ...flags], env, cwd: import.meta.dirname })
}

/** Runs `migrate` of the old program, as its container does before it serves. */
export async function migrateOld(place: Place, program: string): Promise<void> {
  const { databaseUrl, theirs, env } = place
  const all = { ...theirs.environment(databaseUrl, 0), ...underNames(env), API_EXTERNAL_URL: 'http://localhost' }
  await runProgram({ program, args: ['migrate'], env: all, cwd: import.meta.dirname })
}

const Tables = z.array(z.object({ schema: z.string(), name: z.string() }))
const Texts = z.array(z.object({ row: z.string() }))

/** The rows of some schemas, as sorted texts, by table. */
type Rows = ReadonlyMap<string, readonly string[]>

/** @param left omitted columns, by table without its schema */
export async function readRows(
  url: string,
  schemas: readonly string[],
  left: Readonly<Record<string, readonly string[]>> = {},
): Promise<Rows> {
  const names = schemas.map((schema) => `'${schema}'`).join(', ')
  const tables = await execute(
    url,
    `SELECT schemaname AS schema, tablename AS name FROM pg_tables WHERE schemaname IN (${names}) ORDER BY 1, 2`,
  )
  const rows = new Map<string, readonly string[]>()
  for (const { schema, name } of Tables.parse(tables)) {
    const without = (left[name] ?? []).map((column) => ` - '${column}'`).join('')
    const found = await execute(url, `SELECT (to_jsonb(t)${without})::text AS row FROM "${schema}"."${name}" t`)
    rows.set(
      `${schema}.${name}`,
      Texts.parse(found)
        .map(({ row }) => row)
        .sort(),
    )
  }
  return rows
}

/** The first difference of two readings as a sentence, or `undefined` if they are equal. */
export function findDifference(expected: Rows, found: Rows): string | undefined {
  const tables = [...new Set([...expected.keys(), ...found.keys()])]
  for (const table of tables) {
    const [one, other] = [expected.get(table), found.get(table)]
    if (one === undefined || other === undefined) return `${table} is only in one of the two`
    const [these, those] = [new Set(one), new Set(other)]
    const missing = one.find((row) => !those.has(row))
    const added = other.find((row) => !these.has(row))
    if (missing !== undefined || added !== undefined || one.length !== other.length)
      return `${table}: ${one.length} and ${other.length} rows, missing ${missing}, added ${added}`
  }
  return undefined
}
