import { type Database, openDatabase } from '@trestle/database/connect.ts'
import { isMigrated } from '@trestle/database/migrations/migrate.ts'
import { withDatabase } from '@trestle/database/migrations/migration-connection.ts'
import type { DatabaseConfig } from '@trestle/database/open-server.ts'
import { createJobs, type Jobs, type JobsConfig } from '@trestle/jobs/jobs.ts'
import { authFunctions, authMigrations } from '@trestle/migrations/auth.ts'
import type { AuthConfig } from './config.ts'
import type { AuthTables } from './database.ts'
import { authNames, migrateOptions } from './migrations.ts'
import { hasRelation, requireNoStrangers } from './schema/catalog.ts'

/** Not configurable. Tests use longer limits. */
const LIMITS = { statementTimeoutMs: 10_000, lockTimeoutMs: 5_000 }
/** The name of the queue's connections in PostgreSQL. A serving process always has one. */
export const JOBS_APPLICATION = 'auth-jobs'

/** Opens the database in the role of the service. Connections are opened on demand. */
export function openAuthDatabase(
  config: AuthConfig,
  onConnectionError: (error: Error) => void,
  rest: Pick<DatabaseConfig, 'spans'> = {},
): Database<AuthTables> {
  return openDatabase<AuthTables>({
    ...LIMITS,
    ...config.database,
    names: authNames(config),
    // Triggers of applications run with this path, which Supabase also gives the owner of these tables.
    searchPath: config.database.schema,
    applicationName: 'auth',
    timestamps: 'rfc3339',
    ...rest,
    onConnectionError,
  })
}

/** The job queue of the service, which `open` connects. */
export function openAuthJobs(
  config: AuthConfig,
  options: Pick<JobsConfig, 'meter' | 'onError' | 'now' | 'payloadKeys'>,
): Jobs {
  const { url, role, prepared } = config.database
  return createJobs({
    url,
    schema: authNames(config).jobSchema,
    role,
    prepared,
    applicationName: JOBS_APPLICATION,
    ...options,
  })
}

/**
 * Adapts the settings to the database. In an adopted database, triggers and constraints of applications expect users when codes
 * are requested, and applications read their errors. This applies in every profile (reference: Adopting a database).
 */
export async function fitToDatabase(config: AuthConfig, { db, names }: Database<AuthTables>): Promise<AuthConfig> {
  // This table of supabase/auth stays in its place. With a prefix, tables of others may exist in the schema.
  const isAdopted = names.prefix === '' && (await hasRelation(db, names.schema, 'schema_migrations'))
  if (!isAdopted) return config
  return {
    ...config,
    compatibility: { ...config.compatibility, createUserOnCodeRequest: true, showErrorsOfTriggers: true },
  }
}

/**
 * Checks who may create functions in the schema in which the service looks up names.
 * @throws Error, with advice, if a role may that could not otherwise run code with the rights of the service
 */
export async function expectOwnSchema(config: AuthConfig): Promise<void> {
  const target = migrateOptions(config)
  await withDatabase(target, (db) => requireNoStrangers(db, target.names))
}

/** Resolves if the tables match this release. @throws Error if migrations are pending */
export async function expectMigrations({ checks, names }: Database<AuthTables>): Promise<void> {
  const migrated = await isMigrated(checks, { names, sources: authMigrations, files: authFunctions })
  if (!migrated) throw new Error('migrations are pending: run auth migrate')
}
