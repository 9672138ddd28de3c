import { parseDuration } from '@trestle/common/config/duration.ts'
import type { SettingValues } from '@trestle/common/config/load-config.ts'
import { flag, integer, matching, parsed, type Setting, text } from '@trestle/common/config/setting.ts'
import { NAMESPACE_PATTERN } from '@trestle/database/names.ts'
import { ROLE_PATTERN } from '@trestle/database/rights/roles.ts'

/** Returns the setting of a PostgreSQL connection string. The value is never shown, because it contains a password. */
export function databaseUrl(): Setting<string> {
  const problem = 'must be a postgres:// connection string, with %20 for a blank and %25 for a %'
  return parsed({ form: 'postgres:// URL', secret: true, problem }, (value) =>
    isDatabaseUrl(value) ? value : undefined,
  )
}

/** Whether a text is a postgres:// URL. pg would misread a blank or an unescaped %, and lose the options of the URL. */
export function isDatabaseUrl(text: string): boolean {
  return /^postgres(ql)?:\/\//.test(text) && !/\s|%(?![0-9a-f]{2})/i.test(text) && URL.canParse(text)
}

const LAG_MS_MIN = 2_000

/** The maximum lag of a standby that serves reads: at least 2 s, because the lag is checked once a second. */
function lagMax(): Setting<number> {
  return parsed({ form: 'duration', allowed: 'at least 2s', problem: 'must be a duration of at least 2s' }, (value) => {
    const ms = parseDuration(value)
    return ms !== undefined && ms >= LAG_MS_MIN ? ms : undefined
  })
}

export const databaseSettings = {
  MIGRATION_DATABASE_URL: databaseUrl()
    .optional()
    .describe(
      'Connection that may change the schema. `migrate` and the start of the service use it. Default: the connection of the service.',
    ),
  DB_ROLE: matching(ROLE_PATTERN, 'a role name of lower-case letters, digits and _')
    .optional()
    .describe('Role that the service works as. It has no right to change the schema.'),
  DB_NAMESPACE: matching(NAMESPACE_PATTERN, 'lower-case letters, digits and _, at most 31')
    .default('')
    .describe('Prefix of the names of all tables, indexes and functions, and of the schema of jobs.'),
  DB_PREPARED: flag()
    .prefault('true')
    .describe(
      'Use named prepared statements. Behind a pooler in transaction mode set this to false; role and limits are then sent with each transaction.',
    ),
  NODE_ENV: text()
    .prefault('development')
    .meta({
      aliases: ['NODE_ENV'],
      unprefixed: true,
      description:
        'In `production`, a start replaces the SQL functions of earlier releases only, not those of another build of its own release. Images set it.',
    }),
  PGCONNECT_TIMEOUT: integer(0, 86_400, 'seconds')
    .prefault('30')
    .meta({
      aliases: ['PGCONNECT_TIMEOUT'],
      unprefixed: true,
      description: 'How long a start waits for the database. 0: without limit.',
    }),
} as const

/** Settings of an earlier release that now have a name without the prefix. */
export const removedDatabaseSettings = {
  NODE_ENV: 'set NODE_ENV',
  DB_CONNECT_TIMEOUT: 'set PGCONNECT_TIMEOUT, in seconds',
} as const

/** Settings of a standby that serves lists. */
export const standbySettings = {
  DB_READ_URL: databaseUrl()
    .optional()
    .describe(
      'A standby, which serves lists as long as it keeps up. Permissions and single objects are always read from the primary.',
    ),
  DB_READ_LAG_MAX: lagMax()
    .prefault('10s')
    .describe('How far the standby may be behind. Beyond that, lists are read from the primary.'),
} as const

type DatabaseValues = SettingValues<typeof databaseSettings & typeof standbySettings> & {
  readonly DATABASE_URL: string
  readonly DB_POOL_SIZE: number
}

/** The settings of the service's database and its standby. */
export interface DatabaseSettings {
  readonly url: string
  readonly migrationUrl: string
  readonly isProduction: boolean
  readonly standby: {
    readonly url: string | undefined
    readonly lagMsMax: number
  }
  readonly role: string | undefined
  readonly namespace: string
  readonly poolSize: number
  readonly prepared: boolean
  readonly connectTimeoutMs: number
}

export function toDatabaseConfig(values: DatabaseValues): DatabaseSettings {
  return {
    url: values.DATABASE_URL,
    migrationUrl: values.MIGRATION_DATABASE_URL ?? values.DATABASE_URL,
    isProduction: values.NODE_ENV === 'production',
    standby: { url: values.DB_READ_URL, lagMsMax: values.DB_READ_LAG_MAX },
    role: values.DB_ROLE,
    namespace: values.DB_NAMESPACE,
    poolSize: toPoolSize(values.DB_POOL_SIZE),
    prepared: values.DB_PREPARED,
    connectTimeoutMs: toConnectTimeoutMs(values.PGCONNECT_TIMEOUT),
  }
}

/** Converts the setting to milliseconds. 0 means no limit, as in programs of PostgreSQL. */
export function toConnectTimeoutMs(seconds: number): number {
  return seconds === 0 ? Number.POSITIVE_INFINITY : seconds * 1000
}

/** The number of connections for writes if the setting is 0. */
const POOL_CONNECTIONS = 16
/** The largest pool that does not make PostgreSQL slower. */
const LARGE_POOL_CONNECTIONS = 32

/** Returns the number of connections for writes. If the setting is 0, the service chooses the number. */
export function toPoolSize(setting: number): number {
  return setting === 0 ? POOL_CONNECTIONS : setting
}

/** Returns a warning if a pool is so large that it makes PostgreSQL slower. */
export function largePoolWarnings(name: string, setting: number): readonly string[] {
  return setting > LARGE_POOL_CONNECTIONS
    ? [`${name} above ${LARGE_POOL_CONNECTIONS} makes the database slower, not faster`]
    : []
}
