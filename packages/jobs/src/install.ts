import { NO_LIMITS, OWN_PATH, underSettings } from '@trestle/database/driver/session-settings.ts'
import { listLockOwners } from '@trestle/database/migrations/migration-connection.ts'
import { isLockTimeout } from '@trestle/database/unavailable.ts'
import { keepsSettings } from '@trestle/database/wait-for-database.ts'
import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { PgBoss } from 'pg-boss'
import pgBoss from 'pg-boss/package.json' with { type: 'json' }
import { installFairShare } from './fair-share.ts'
import { type AnyTask, deadLetterQueue, type JobIndex } from './task.ts'

export interface InstallOptions {
  readonly url: string
  /** The schema of the queue, such as `auth_jobs`. */
  readonly schema: string
  readonly tasks: readonly AnyTask[]
}

/** The version of the queue's schema. `settings` of a migration include it, so a new version runs the install again. */
export const QUEUE_VERSION: string = `${pgBoss.version}, with turns by their length`

/**
 * Creates or updates the schema of the queue, and its queues. It runs in `migrate`, under the migration lock. If everything is up
 * to date, it changes nothing.
 * @throws Error that names the holder of an advisory lock of the queue, after a wait of 30 s
 */
export async function installJobs(db: Kysely<unknown>, { url, schema, tasks }: InstallOptions): Promise<void> {
  await secureQueue(db, schema)
  // Load the library here, so that a start without an install does not load it.
  const { PgBoss } = await import('pg-boss')
  const boss = new PgBoss({
    // An update may build indexes outside of transactions. This needs its own session.
    ...underSettings({ ...OWN_PATH, ...NO_LIMITS }, { url, hasSession: await keepsSettings(url) }),
    schema,
    max: 1,
    supervise: false,
    schedule: false,
    migrate: true,
    // Do not register an instance, because a killed install would leave its row in the list of instances.
    registerInstance: false,
  })
  boss.on('error', () => {})
  await namingOwners(db, schema, () => boss.start())
  try {
    for (const task of tasks) await namingOwners(db, schema, () => installTask(boss, task))
  } finally {
    await boss.stop({ graceful: false })
  }
  await secureQueue(db, schema)
  // Without these statistics, the planner expects jobs in each state, and reads a whole queue to find none.
  await sql`
    CREATE STATISTICS IF NOT EXISTS ${sql.id(schema, 'job_common_queue_states')} (mcv)
    ON name, state FROM ${sql.id(schema, 'job_common')}`.execute(db)
  await installFairShare(db, schema)
  for (const task of tasks) for (const index of task.indexes ?? []) await createIndex(db, schema, { task, index })
}

/**
 * Creates a missing index. Writers of jobs wait for it, a few seconds with a million jobs. This is acceptable because they run in
 * the background.
 */
async function createIndex(
  db: Kysely<unknown>,
  schema: string,
  { task, index }: { readonly task: AnyTask; readonly index: JobIndex },
): Promise<void> {
  // Check first, because `IF NOT EXISTS` would wait for the lock of the table before it checks.
  const { rows } = await sql`SELECT WHERE to_regclass(${`"${schema}"."${index.name}"`}) IS NULL`.execute(db)
  if (rows.length === 0) return
  const queue = index.of === 'jobs' ? task.name : deadLetterQueue(task)
  await sql`
    CREATE INDEX ${sql.id(index.name)} ON ${sql.id(schema, 'job_common')} (${sql.raw(index.columns)})
    WHERE name = ${sql.lit(queue)}${sql.raw(index.where === undefined ? '' : ` AND ${index.where}`)}`.execute(db)
}

/**
 * Protects against statements of other roles. An install runs the statements in the table `bam`, and uses table names from the
 * table `queue`, with the rights of the owner. So this deletes what other roles could have written to `bam`, and revokes their
 * right to write there. It also forbids separate tables for queues. Statements of an earlier install in `bam` stay.
 *
 * Lock order: `bam`, `queue`. Only one migration installs at a time, so no process takes them in another order.
 */
async function secureQueue(db: Kysely<unknown>, schema: string): Promise<void> {
  const [bam, queue] = [sql.id(schema, 'bam'), sql.id(schema, 'queue')]
  const isThere = sql`to_regclass(${`"${schema}".bam`}) IS NOT NULL`
  if ((await sql`SELECT WHERE ${isThere}`.execute(db)).rows.length === 0) return
  await db.transaction().execute(async (trx) => {
    // The lock waits for transactions that are writing a row.
    await sql`LOCK TABLE ${bam} IN ACCESS EXCLUSIVE MODE`.execute(trx)
    const { rows: writers } = await sql<{ name: string | null }>`
      SELECT DISTINCT r.rolname AS name FROM pg_class c CROSS JOIN aclexplode(c.relacl) a LEFT JOIN pg_roles r ON r.oid = a.grantee
      WHERE c.oid = ${`"${schema}".bam`}::regclass AND a.grantee <> c.relowner`.execute(trx)
    if (writers.length > 0) {
      await sql`DELETE FROM ${bam} WHERE status <> 'completed'`.execute(trx)
      const names = writers.map(({ name }) => (name === null ? sql`PUBLIC` : sql.id(name)))
      await sql`REVOKE ALL ON TABLE ${bam} FROM ${sql.join(names)}`.execute(trx)
    }
    const { rows: checks } = await sql`
      SELECT FROM pg_constraint WHERE conrelid = ${`"${schema}".queue`}::regclass AND conname = 'queue_shared_ck'`.execute(
      trx,
    )
    if (checks.length > 0) return
    await sql`LOCK TABLE ${queue} IN ACCESS EXCLUSIVE MODE`.execute(trx)
    await sql`
      UPDATE ${queue} SET partition = false, table_name = 'job_common'
      WHERE partition OR table_name <> 'job_common'`.execute(trx)
    await sql`
      ALTER TABLE ${queue} ADD CONSTRAINT queue_shared_ck CHECK (NOT partition AND table_name = 'job_common')`.execute(
      trx,
    )
  })
}

/** The objects that pg-boss creates in the schema. Indexes, partitions and sequences are dropped with their tables. */
const TABLES = [
  ...['job', 'job_common', 'job_dependency', 'queue', 'queue_stats', 'schedule', 'subscription'],
  ...['version', 'warning', 'bam', 'instance'],
] as const
const FUNCTIONS = [
  ...['create_queue', 'delete_queue', 'job_now', 'job_table_format', 'job_table_run', 'job_table_run_async'],
  'set_turn',
] as const
const TYPES = ['job_state'] as const

/**
 * Drops the schema of the queue and everything that pg-boss has created there. Does nothing if the schema does not exist.
 * @throws DatabaseError (2BP01) if the schema contains something else, or if something else depends on it
 */
export async function dropJobs(db: Kysely<unknown>, schema: string): Promise<void> {
  await sql`DROP TABLE IF EXISTS ${inSchema(schema, TABLES)}`.execute(db)
  const { rows } = await sql<{ signature: string }>`
    SELECT oid::regprocedure::text AS signature FROM pg_proc
    WHERE pronamespace = to_regnamespace(${`"${schema}"`}) AND proname = ANY (${FUNCTIONS}::text[])`.execute(db)
  for (const { signature } of rows) await sql`DROP FUNCTION ${sql.raw(signature)}`.execute(db)
  await sql`DROP TYPE IF EXISTS ${inSchema(schema, TYPES)}`.execute(db)
  await sql`DROP SCHEMA IF EXISTS ${sql.id(schema)}`.execute(db)
}

function inSchema(schema: string, names: readonly string[]): RawBuilder<unknown> {
  return sql.join(names.map((name) => sql.id(schema, name)))
}

/** The worker ends attempts. The queue waits this much longer before it gives up an attempt that reports nothing. */
const EXPIRY_MARGIN_SECONDS = 15
const DEAD_KEPT_SECONDS = 90 * 86_400
const DONE_KEPT_SECONDS = 3_600

type QueueOptions = NonNullable<Parameters<PgBoss['createQueue']>[1]>

async function installTask(boss: PgBoss, task: AnyTask): Promise<void> {
  await createOrUpdate(boss, deadLetterQueue(task), { deleteAfterSeconds: 0, retentionSeconds: DEAD_KEPT_SECONDS })
  await createOrUpdate(boss, task.name, {
    notify: true,
    heartbeatSeconds: 10,
    retryLimit: task.retryLimit,
    retryBackoff: true,
    retryDelay: task.firstDelaySeconds,
    retryDelayMax: task.delaySecondsMax,
    expireInSeconds: task.timeoutSeconds + EXPIRY_MARGIN_SECONDS,
    deleteAfterSeconds: DONE_KEPT_SECONDS,
    deadLetter: deadLetterQueue(task),
  })
}

/** Creates a missing queue. Creation takes a lock that any user may hold, so an existing queue skips it. */
async function createOrUpdate(boss: PgBoss, name: string, options: QueueOptions): Promise<void> {
  if ((await boss.getQueue(name)) === null) await boss.createQueue(name, options)
  await boss.updateQueue(name, options)
}

/** The suffixes of the names of pg-boss's advisory locks. It takes one lock to create its schema, and one to create queues. */
const LOCKS = ['', 'create-queue'] as const

/** @throws Error that names the holder of a lock of pg-boss, after it has waited too long for the lock */
async function namingOwners<T>(db: Kysely<unknown>, schema: string, use: () => Promise<T>): Promise<T> {
  try {
    return await use()
  } catch (error) {
    if (!isLockTimeout(error)) throw error
    const owners = await Promise.all(
      LOCKS.map((lock) => {
        const name = sql`current_database() || ${`.pgboss.${schema}${lock}`}`
        return listLockOwners(db, sql`('x' || encode(sha224(convert_to(${name}, 'UTF8')), 'hex'))::bit(64)::bigint`)
      }),
    )
    if (owners.flat().length === 0) throw error
    throw new Error(
      `another session holds a lock that the queue of jobs in the schema ${schema} needs: ${owners.flat().join(', ')}; end it with SELECT pg_terminate_backend(…), and run this again`,
      { cause: error },
    )
  }
}
