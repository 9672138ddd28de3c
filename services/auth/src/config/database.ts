import type { SettingValues } from '@trestle/common/config/load-config.ts'
import { flag, integer, matching, oneOf } from '@trestle/common/config/setting.ts'
import { group } from '@trestle/common/config/setting-description.ts'
import { NAMESPACE_PATTERN } from '@trestle/database/names.ts'
import {
  databaseSettings as commonSettings,
  type DatabaseSettings,
  databaseUrl,
} from '@trestle/service/database-settings.ts'
import { toPoolSize } from '@trestle/service/pool-size.ts'
import { retention } from './rules.ts'

/** Settings of the database and of what is kept there (docs/settings/auth.md). */
export const databaseSettings = group('Database', {
  DB_DRIVER: oneOf('postgres').describe('The kind of database.'),
  DB_DATABASE_URL: databaseUrl().meta({
    aliases: ['AUTH_DATABASE_URL', 'DATABASE_URL'],
    description: 'Connection of the service.',
  }),
  ...commonSettings,
  DB_SCHEMA: matching(NAMESPACE_PATTERN, 'lower-case letters, digits and _, at most 31')
    .prefault('auth')
    .meta({ aliases: ['GOTRUE_DB_NAMESPACE'], description: 'Schema of all tables and functions.' }),
  DB_NAMESPACE: commonSettings.DB_NAMESPACE.meta({
    ...commonSettings.DB_NAMESPACE.meta(),
    aliases: ['DB_NAMESPACE'],
  }),
  DB_MAX_POOL_SIZE: integer(0, 1_000)
    .prefault('0')
    .describe('Connections for writes. 0 means 16; more than 32 are slower.'),
  DB_CLEANUP_ENABLED: flag()
    .prefault('true')
    .describe('Remove expired sessions, tokens and unfinished flows in the background.'),
  AUDIT_LOG_DISABLE_POSTGRES: flag()
    .prefault('false')
    .describe('Write audit events to the log only, not to the database.'),
  AUDIT_LOG_RETENTION: retention()
    .prefault('8760h')
    .describe('How long audit events stay in the database. off keeps them for ever.'),
  ANONYMOUS_USER_RETENTION: retention()
    .prefault('720h')
    .describe(
      'How long anonymous users stay after their creation. off keeps them for ever, as the profile supabase does by default. Anonymous users that an adoption or an import has carried over, or an admin has changed, always stay.',
    ),
  UNCONFIRMED_USER_RETENTION: retention()
    .prefault('720h')
    .describe(
      'How long users who have signed up have to confirm, after the last message, before they are removed. off keeps them. A user whom an admin or an import has made, invited, changed or banned, or who has signed in, is never removed.',
    ),
})

type DatabaseValues = SettingValues<typeof databaseSettings>

/** The settings of the database, and of what is kept there. Auth has no lists that a standby could serve. */
export interface AuthDatabaseSettings extends Omit<DatabaseSettings, 'standby'> {
  readonly schema: string
  readonly cleanupEnabled: boolean
  readonly auditInPostgres: boolean
  readonly auditRetentionMs: number | 'off'
  readonly anonymousRetentionMs: number | 'off'
  readonly unconfirmedRetentionMs: number | 'off'
}

/**
 * Returns the settings of the database. A pool size of 0 becomes the size that the service chooses; a retention of `off` keeps
 * rows for ever.
 */
export function toDatabaseConfig(values: DatabaseValues): AuthDatabaseSettings {
  return {
    url: values.DB_DATABASE_URL,
    migrationUrl: values.MIGRATION_DATABASE_URL ?? values.DB_DATABASE_URL,
    isProduction: values.NODE_ENV === 'production',
    poolSize: toPoolSize(values.DB_MAX_POOL_SIZE),
    prepared: values.DB_PREPARED,
    connectTimeoutMs: values.DB_CONNECT_TIMEOUT,
    role: values.DB_ROLE,
    schema: values.DB_SCHEMA,
    namespace: values.DB_NAMESPACE,
    cleanupEnabled: values.DB_CLEANUP_ENABLED,
    auditInPostgres: !values.AUDIT_LOG_DISABLE_POSTGRES,
    auditRetentionMs: values.AUDIT_LOG_RETENTION,
    anonymousRetentionMs: values.ANONYMOUS_USER_RETENTION,
    unconfirmedRetentionMs: values.UNCONFIRMED_USER_RETENTION,
  }
}
