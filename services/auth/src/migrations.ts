import type { ServiceFunctions } from '@trestle/database/migrations/functions.ts'
import { type MigrateOptions, migrateAtStart } from '@trestle/database/migrations/migrate.ts'
import { withDatabase } from '@trestle/database/migrations/migration-connection.ts'
import { createNames } from '@trestle/database/names.ts'
import type { Callers } from '@trestle/database/rights/function-rights.ts'
import { loginOf } from '@trestle/database/rights/roles.ts'
import { installJobs, QUEUE_VERSION } from '@trestle/jobs/install.ts'
import type { AnyTask } from '@trestle/jobs/task.ts'
import { authFunctions, authMigrations } from '@trestle/migrations/auth.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, sql } from 'kysely'
import type { CompatibilityOptions } from './config/compatibility.ts'
import type { AuthDatabaseSettings } from './config/process.ts'
import { userCreatedTask } from './hooks/user-created-job.ts'
import { mailTask } from './messages/mail-job.ts'
import { messageRequestTask } from './messages/message-request.ts'
import { smsTask } from './messages/sms-job.ts'
import { createOwnSchema, requireOwnJobSchema } from './schema/catalog.ts'
import { clearExistingSchema, hasUpstreamTables, requireNotAdopted, requireSwitched } from './schema/existing-schema.ts'
import { hideOwnTables } from './schema/own-objects.ts'
import { cleanUpTask } from './use-cases/clean-up.ts'
import { VERSION } from './version.ts'

/** Every kind of background work of the service. */
export const tasks: readonly AnyTask[] = [messageRequestTask, mailTask, smsTask, userCreatedTask, cleanUpTask]

/**
 * Functions that policies of applications call, with a text from their bodies in supabase/auth (reference: Functions for
 * policies). Their first versions lack this text and do not support the claims as PostgREST sets them today.
 */
const policyFunctions = {
  uid: 'request.jwt.claims',
  role: 'request.jwt.claims',
  email: 'request.jwt.claims',
  jwt: 'request.jwt.claims',
} as const

/** The PostgREST roles in a Supabase database. They call the functions and have no right on any table. */
const policyCallers: Callers = {
  roles: ['anon', 'authenticated', 'service_role'],
  functions: Object.keys(policyFunctions),
  // An operator may have revoked rights that supabase/auth or its PostgreSQL image had granted.
  keepsRights: hasUpstreamTables,
}

interface DatabaseConfig {
  readonly database: Pick<AuthDatabaseSettings, 'migrationUrl' | 'namespace' | 'role' | 'schema' | 'url'> &
    Partial<Pick<AuthDatabaseSettings, 'isProduction'>>
  readonly compatibility?: Pick<CompatibilityOptions, 'makesPgcrypto'>
}

export function authNames({
  database,
}: {
  readonly database: Pick<AuthDatabaseSettings, 'namespace' | 'schema'>
}): Names {
  return createNames(database.schema, database.namespace)
}

export function serviceFunctions({
  isProduction,
}: Partial<Pick<AuthDatabaseSettings, 'isProduction'>>): ServiceFunctions {
  return {
    files: authFunctions,
    release: VERSION,
    replacesOwnRelease: !isProduction,
    foreign: policyFunctions,
    // Policies of an adopted database expect its own functions, with any result type.
    keepsForeign: hasUpstreamTables,
  }
}

/** The options of `migrate` and of the start: migrations and functions, then job queues, then grants. */
export function migrateOptions(config: DatabaseConfig): MigrateOptions {
  const names = authNames(config)
  const { migrationUrl: url, role, url: serviceUrl } = config.database
  const makesPgcrypto = config.compatibility?.makesPgcrypto === true
  return {
    url,
    names,
    sources: authMigrations,
    expectFit: (db) => requireSwitched(db, names),
    expectReversible: (db) => requireNotAdopted(db, names),
    beforeFirst: async (trx) => {
      await requireOwnJobSchema(trx, names)
      return clearExistingSchema(trx, names)
    },
    functions: serviceFunctions(config.database),
    callers: policyCallers,
    settings: { VERSION, QUEUE_VERSION, tasks, role, login: loginOf(serviceUrl), makesPgcrypto },
    afterwards: [(db) => hideOwnTables(db, names), (db) => createJobQueue(db, config)],
    createOptional: makesPgcrypto ? createPgcrypto : undefined,
    grants: role === undefined ? undefined : { role, serviceUrl, appendOnly: [] },
  }
}

/**
 * Creates or updates the job queue with its schema. The installation runs objects of this schema, so the service creates the
 * schema itself, before another role that may create schemas can do so.
 */
export async function createJobQueue(db: Kysely<unknown>, config: DatabaseConfig): Promise<void> {
  const names = authNames(config)
  await createOwnSchema(db, names.jobSchema)
  await requireOwnJobSchema(db, names)
  await installJobs(db, { url: config.database.migrationUrl, schema: names.jobSchema, tasks })
}

/**
 * Like `migrateOptions`, for direct connections to PostgreSQL. Indexes created without a lock and session locks need a session of
 * their own. A pooler refuses or drops the search path of such a connection, which `requireFixedPath` detects.
 */
export function adoptOptions(config: DatabaseConfig): MigrateOptions {
  return { ...migrateOptions(config), hasSession: true }
}

/** @returns the pending migrations @throws Error if tables of supabase/auth hide rows from AUTH_DB_ROLE */
export async function migrateToLatest(config: DatabaseConfig): Promise<readonly string[]> {
  if (config.database.role !== undefined) await requireVisibleRows(config, config.database.role)
  return (await migrateAtStart(migrateOptions(config))).migrations
}

/** @throws Error if row-level security hides the rows of an adopted database from the role of the service */
async function requireVisibleRows(config: DatabaseConfig, role: string): Promise<void> {
  const { url, names } = migrateOptions(config)
  const { rows } = await withDatabase({ url }, (db) =>
    sql<{ owner: string }>`
      SELECT pg_get_userbyid(relowner) AS owner FROM pg_class
      WHERE oid = to_regclass(format('%I.%I', ${names.schema}::text, ${`${names.prefix}users`}::text)) AND relrowsecurity
        AND pg_get_userbyid(relowner) <> ${role}`.execute(db),
  )
  const [table] = rows
  if (table !== undefined)
    throw new Error(
      `AUTH_DB_ROLE is ${role}, from which the tables of supabase/auth hide their rows: unset it, the service works as ${table.owner}`,
    )
}

/**
 * Creates the extension pgcrypto, unless the database has it (reference: Seed files).
 * @returns the statement for an administrator if the extension cannot be created
 */
async function createPgcrypto(db: Kysely<unknown>): Promise<readonly string[]> {
  const { rows } = await sql<{ isMade: boolean; schema: string }>`
    SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'pgcrypto') AS "isMade",
      CASE WHEN to_regnamespace('extensions') IS NULL THEN 'public' ELSE 'extensions' END AS schema`.execute(db)
  const [state] = rows
  if (state === undefined || state.isMade) return []
  const statement = `CREATE EXTENSION IF NOT EXISTS pgcrypto WITH SCHEMA ${state.schema}`
  try {
    await sql.raw(statement).execute(db)
    return []
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return [
      `pgcrypto is missing (${reason}), so crypt() fails in SQL of applications. As an administrator, run: ${statement}`,
    ]
  }
}
