import { dropFunctions } from '@trestle/database/migrations/functions.ts'
import { underLock } from '@trestle/database/migrations/migration-connection.ts'
import { inLatest, takeBackAll } from '@trestle/database/migrations/migrator.ts'
import { readDependents } from '@trestle/database/violations.ts'
import { dropJobs } from '@trestle/jobs/install.ts'
import type { Kysely } from 'kysely'
import { adoptOptions } from '../../migrations.ts'
import { JOBS_APPLICATION } from '../../open-database.ts'
import { requireOwnSchemas, underPathOfTriggers } from '../../schema/catalog.ts'
import { describeAdopted, findUnrecorded } from '../../schema/existing-schema.ts'
import { listOwnConnections, lockTables } from '../adoption-locks.ts'
import {
  type AdoptionDeps,
  type AdoptionPlaces,
  type AdoptionRecord,
  findRecord,
  isLeftOver,
  placesOf,
  readRecord,
} from '../adoption-record.ts'
import { listReplaced, migrationsInPlace } from '../changes/added-columns.ts'
import { ownChanges, revertUpstreamChanges } from '../changes/upstream-changes.ts'
import { requireRights } from '../check/missing-rights.ts'
import { dropEmailIndex, recoverRecord, withoutOtherRuns } from '../prepare/begin-adoption.ts'
import { dropStaging, dropTriggers } from '../prepare/staging-tables.ts'
import { allowOldServer, moveBack, stayingTables } from '../switch-tables.ts'
import {
  countKept,
  dropKept,
  dropKeptTables,
  dropPgcrypto,
  findUndoCosts,
  listAdditions,
  type UndoCosts,
} from '../undo/drop-adoption.ts'
import { giveBackRows } from '../undo/give-back-rows.ts'
import { listUnopened } from '../undo/give-back-secrets.ts'
import { findVersion } from '../upstream-tables.ts'

/**
 * Gives the database back to the old service (reference: Adopting a database). Users keep their present passwords, emails and
 * factors.
 * @param confirm called before anything changes. If it returns `false`, nothing changes
 * @returns whether the undo was done
 * @throws Error if no adoption can be undone, while a run or this service is active, or if a right, a key or a dependent object
 * prevents the undo
 */
export async function undoAdoption(
  { config, encryptionKeys, randomBytes }: Omit<AdoptionDeps, 'now'>,
  confirm: (costs: UndoCosts) => Promise<boolean>,
): Promise<boolean> {
  const target = adoptOptions(config)
  const { names } = target
  const places = placesOf(names)
  // An `adopt` run that waits for its index holds no other lock, but would continue after the undo.
  const work = async (db: Kysely<unknown>) => {
    const record = (await findRecord(db, places)) ?? (await recoverRecord(db, places))
    if (record === undefined) throw new Error(await describeUnrecorded(db, places))
    const { switchedAt, version } = record
    // Skip the schema of copies after the switch. The switch drops it, so any role may own this name later.
    const staging = switchedAt === null ? [places.staging] : []
    await requireOwnSchemas(db, [places.kept, ...staging, names.jobSchema])
    await requireStopped(db)
    await requireRights(db, names)
    await requireSameVersion(db, places, record)
    if (switchedAt !== null) await requireNoAdditions(db, places)
    await requireNoDependents(() => rehearse(db, places, record))
    await requireKeys(db, { places, switchedAt, encryptionKeys })
    if (!(await confirm(await findUndoCosts(db, places, record, encryptionKeys)))) return false
    const encryption = { encryptionKeys, randomBytes }
    const takeBack = takeBackAll(db, { names, sources: migrationsInPlace() }, async (trx, attempt) => {
      await lockOwnTables(trx, places, { switchedAt, attempt })
      // Check again, because a service may have started while the operator was reading the question.
      await requireStopped(trx)
      if (switchedAt === null) await dropTriggers(trx, places)
      else {
        const { codeAttemptsMax } = config.security
        const context = { trx, places, encryption, codeAttemptsMax, version }
        await underPathOfTriggers(trx, names, () => giveBackRows(context))
      }
      await dropOwnFunctions(trx, places)
      return (later) => restore(later, places, record)
    })
    await requireNoDependents(() => takeBack)
    return true
  }
  return withoutOtherRuns(target, () => underLock(target, work))
}

/** Returns the reason why nothing can be undone if no run has left a record. */
async function describeUnrecorded(db: Kysely<unknown>, { names, kept }: AdoptionPlaces): Promise<string> {
  const isAdopted = (await findUnrecorded(db, names)) === 'adopted'
  return isAdopted ? describeAdopted(names) : `the schema ${kept} is not there: nothing was adopted`
}

/**
 * Refuses the undo while this service has connections. Each sign-in would fail if its tables were removed under a running
 * service. Connections that a pooler keeps after the service has stopped look the same, so they are refused too.
 */
async function requireStopped(db: Kysely<unknown>): Promise<void> {
  const pids = await listOwnConnections(db, JOBS_APPLICATION)
  if (pids.length > 0)
    throw new Error(
      `auth still serves from connections named ${JOBS_APPLICATION} (pid ${pids.join(', ')}): stop it first. Once it has ended, a pooler may keep them: end them with SELECT pg_terminate_backend(…)`,
    )
}

/**
 * Refuses an undo if the old service has migrated the database after the switch. Migrations before the switch are valid. Later
 * ones have run on tables of this service. After an undo, the database would count them as done without having their changes.
 */
async function requireSameVersion(
  db: Kysely<unknown>,
  { names }: AdoptionPlaces,
  { version, switchedAt }: AdoptionRecord,
): Promise<void> {
  const present = await findVersion(db, names)
  if (switchedAt !== null && present !== version)
    throw new Error(
      `nothing changed: the newest migration of supabase/auth was ${version} at the switch, and is ${present} now. Delete the later rows of ${names.schema}.schema_migrations, and run this again: supabase/auth runs these migrations when it starts`,
    )
}

/**
 * Lock order: users, sessions, the order of this service's requests. If a request uses another order, `takeBackAll` tries again.
 * Before the switch the old service is still working. So all tables that change are locked together, and each attempt gives up if
 * it blocks a request.
 */
async function lockOwnTables(
  trx: Kysely<unknown>,
  places: AdoptionPlaces,
  { switchedAt, attempt }: Pick<AdoptionRecord, 'switchedAt'> & { readonly attempt: number },
): Promise<void> {
  const { names } = places
  if (switchedAt === null)
    await lockTables(trx, { places, tables: [names.id('refresh_tokens'), ...stayingTables(names)] }, 1)
  else await lockTables(trx, { places, tables: [names.id('users'), names.id('sessions')] }, attempt)
}

async function dropOwnFunctions(trx: Kysely<unknown>, places: AdoptionPlaces): Promise<void> {
  await allowOldServer(trx, places)
  await dropFunctions(trx, places.names)
}

/** The error that rolls a rehearsal back. */
const REHEARSED = new Error('rehearsed')

/** Drops everything of this service, as an undo does, and rolls back. Only PostgreSQL knows all dependent objects. */
async function rehearse(db: Kysely<unknown>, places: AdoptionPlaces, record: AdoptionRecord): Promise<void> {
  const { names } = places
  try {
    await takeBackAll(db, { names, sources: migrationsInPlace() }, async (trx, attempt) => {
      await lockOwnTables(trx, places, { switchedAt: record.switchedAt, attempt })
      await dropTriggers(trx, places)
      await dropOwnFunctions(trx, places)
      return async (later) => {
        await restore(later, places, record)
        throw REHEARSED
      }
    })
  } catch (error) {
    if (error !== REHEARSED) throw error
  }
}

/** @throws Error that names the objects that depend on the tables and columns of this service, or the error of the work */
async function requireNoDependents(work: () => Promise<unknown>): Promise<void> {
  try {
    await work()
  } catch (error) {
    const dependents = readDependents(error)
    if (dependents.length === 0) throw error
    throw new Error(
      `nothing changed: change or drop first what depends on the tables of this service\n${dependents.join('\n')}`,
    )
  }
}

/** @throws Error that names what other programs have added to the tables of this service */
async function requireNoAdditions(db: Kysely<unknown>, places: AdoptionPlaces): Promise<void> {
  const additions = await listAdditions(db, places)
  if (additions.length > 0)
    throw new Error(
      `nothing changed: drop or revoke first what was added to the tables of this service, and would be lost with them\n${additions.join('\n')}`,
    )
}

/** @throws Error that names the secrets whose key is not in the settings. The old service would lack these secrets */
async function requireKeys(
  db: Kysely<unknown>,
  { places, switchedAt, encryptionKeys }: Pick<AdoptionDeps, 'encryptionKeys'> & UndoMoment,
): Promise<void> {
  const unopened = switchedAt === null ? [] : await listUnopened(db, places, encryptionKeys)
  if (unopened.length > 0)
    throw new Error(
      `nothing changed: name the missing keys in AUTH_SECURITY_DATABASE_ENCRYPTION_DECRYPTION_KEYS, or delete what they encrypted\n${unopened.join('\n')}`,
    )
}

/** The moment of an undo. `switchedAt` is the time of the switch, or `null` if there was none. */
interface UndoMoment {
  readonly places: AdoptionPlaces
  readonly switchedAt: Date | null
}

async function restore(
  trx: Kysely<unknown>,
  places: AdoptionPlaces,
  { version: since, changes, hadPgcrypto, switchedAt }: AdoptionRecord,
): Promise<void> {
  const { names } = places
  await dropEmailIndex(trx, names)
  await moveBack(trx, places)
  const version = await findVersion(trx, names)
  const made = ownChanges(changes, places, { since, version })
  await underPathOfTriggers(trx, names, () => revertUpstreamChanges(trx, places, made))
  await dropJobs(trx, names.jobSchema)
  if (!hadPgcrypto) await dropPgcrypto(trx)
  await dropKept(trx, places, [])
  if (switchedAt === null) await dropStaging(trx, places)
}

/** The rows that `adopt --forget` would drop, for the operator who decides. */
export interface ForgetCosts {
  /** The time when this service took over. */
  readonly switchedAt: Date
  /** The dropped tables by qualified name, with their numbers of rows. */
  readonly rows: ReadonlyMap<string, number>
}

/**
 * Drops the moved tables of supabase/auth with all rows. Afterwards an undo is impossible. The adoption must be finished, because
 * before that these tables may have the only copy of audit log entries.
 * @param confirm called before anything is dropped. If it returns `false`, nothing is dropped
 * @returns whether the tables were dropped
 * @throws Error if nothing was adopted, the adoption is not finished, or an object of another program depends on these tables
 */
export async function forgetAdoption(
  { config }: Pick<AdoptionDeps, 'config'>,
  confirm: (costs: ForgetCosts) => Promise<boolean>,
): Promise<boolean> {
  const target = adoptOptions(config)
  const places = placesOf(target.names)
  return underLock(target, async (db) => {
    const record = await readRecord(db, places)
    if (record === undefined) throw new Error(`the schema ${places.kept} is not there: there is nothing to forget`)
    const { switchedAt, finishedAt } = record
    if (switchedAt === null || (finishedAt === null && !(await isLeftOver(db, places, record))))
      throw new Error('the adoption is not finished: run auth adopt again, or adopt --undo')
    const replaced = await listReplaced(target.names)
    if (!(await confirm({ switchedAt, rows: await countKept(db, places, replaced) }))) return false
    try {
      await inLatest(db).execute((trx) => dropKeptTables(trx, places, replaced))
    } catch (error) {
      const dependents = readDependents(error)
      if (dependents.length === 0) throw error
      throw new Error(
        `nothing was dropped: change or drop first what depends on the old tables\n${dependents.join('\n')}`,
      )
    }
    return true
  })
}
