import { againWhenLocked } from '@trestle/database/migrations/again-when-locked.ts'
import {
  listLockOwners,
  type MigrationTarget,
  underLock,
  withDatabase,
} from '@trestle/database/migrations/migration-connection.ts'
import { compareMigrations, runOneByOne } from '@trestle/database/migrations/migrator.ts'
import { type Kysely, sql } from 'kysely'
import { hideOwnTables } from '../../schema/own-objects.ts'
import { endAutovacuums, GENTLE_WAIT_MS, inGentle } from '../adoption-locks.ts'
import { type AdoptionPlaces, beginRecord, findRecord, placesOf, recordVersion } from '../adoption-record.ts'
import { listEarlyMigrations, listReplaced } from '../changes/migrations-in-place.ts'
import { applyEarlyChanges, createEarlyIndexes, ownChanges } from '../changes/upstream-changes.ts'
import { requireAdoptable } from '../check/find-obstacles.ts'
import { createUserIndexes, fillDirectory } from './prepare-users.ts'
import { recoverRecord } from './recover-record.ts'
import { type StagingDeps, stageRefreshTokens } from './stage-refresh-tokens.ts'
import { prepareStaging } from './staging-tables.ts'

/** How a run goes. */
export interface AdoptionRun {
  /**
   * Whether to adopt a version of supabase/auth that is newer than this release knows, and where functions
   * seem to take all columns of a table.
   */
  readonly force: boolean
  /** Is told each step that is done. */
  readonly report: (line: string) => void
}

/**
 * Notes the beginning, unless an earlier run has, makes the tables that need no name of supabase/auth, and
 * the indexes of its tables.
 * @returns the newest migration of supabase/auth
 * @throws Error where the database cannot be adopted
 */
export async function beginAdoption(
  target: MigrationTarget,
  role: string | undefined,
  { force, report }: AdoptionRun,
): Promise<string> {
  const { names } = target
  const places = placesOf(names)
  const { version, switchedAt } = await underLock(target, async (db) => {
    const found = await findRecord(db, places)
    if (found !== undefined && found.switchedAt !== null) return found
    // The old service may have migrated the database since an earlier run, or somebody has taken a right away.
    const { version, doubts } = await requireAdoptable(db, { names, force, role, reach: 'anything' })
    for (const doubt of doubts) report(`look at    ${doubt}`)
    const lost = found === undefined ? await recoverRecord(db, places) : undefined
    await beginRecord(db, places, { version, changes: lost?.changes ?? [] })
    if (found !== undefined && found.version !== version) {
      const changes = ownChanges(found.changes, places, { since: found.version, version })
      await recordVersion(db, places, { version, changes })
    }
    await createEarlyTables(db, places)
    return { version, switchedAt: null }
  })
  if (switchedAt !== null) return version
  // PostgreSQL makes an index without a lock once every open transaction has ended, the transaction of the lock too.
  await withDatabase(target, async (db) => {
    await createEarlyIndexes(db, places, report)
    await createUserIndexes(db, names, report)
  })
  return version
}

/**
 * Keeps other runs away. The lock belongs to a connection, because an index that is made without a lock waits for every open
 * transaction, and one of them would hold the lock.
 * @throws Error while another run is at work
 */
export function withoutOtherRuns<T>(target: MigrationTarget, use: () => Promise<T>): Promise<T> {
  return withDatabase(target, (db) =>
    db.connection().execute(async (connection) => {
      const key = sql`hashtext(${`auth adopt ${target.names.schema}`})`
      const { rows } = await sql<{ isMine: boolean }>`SELECT pg_try_advisory_lock(${key}) AS "isMine"`.execute(
        connection,
      )
      if (rows[0]?.isMine !== true)
        throw new Error(
          [
            'another run of auth adopt is at work: wait until it has ended',
            ...(await listLockOwners(connection, key)),
          ].join('; '),
        )
      // A server ends a connection some time after the client has closed it. The lock would keep the next run
      // away until then. With a connection that is lost, the lock is gone.
      const unlock = () => sql`SELECT pg_advisory_unlock(${key})`.execute(connection).catch(() => {})
      return use().finally(unlock)
    }),
  )
}

/** Each change is a transaction of its own, which locks one table that the old service needs. */
async function createEarlyTables(db: Kysely<unknown>, places: AdoptionPlaces): Promise<void> {
  const { names } = places
  await applyEarlyChanges(db, places)
  const sources = await listEarlyMigrations(names)
  const { pending } = await compareMigrations(db, { names, sources })
  const beforeEach = (trx: Kysely<unknown>) => endAutovacuums(trx, places)
  await runOneByOne(db, { names, sources, beforeEach, lockWaitMs: GENTLE_WAIT_MS }, pending)
  const replaced = await listReplaced(names)
  await againWhenLocked(() => inGentle(db, (trx) => hideOwnTables(trx, names, replaced)))
}

/** Everything that may take long, while the old service serves. */
export async function prepareSwitch(
  db: Kysely<unknown>,
  deps: StagingDeps,
  { report }: Pick<AdoptionRun, 'report'>,
): Promise<void> {
  await fillDirectory(db, deps.places)
  report('the directory of users is filled')
  await prepareStaging(db, deps.places)
  await stageRefreshTokens(db, deps)
  report('the refresh tokens are copied')
}
