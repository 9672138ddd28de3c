import { migrateUp } from '@trestle/database/migrations/migrate.ts'
import { type MigrationTarget, underLock, withDatabase } from '@trestle/database/migrations/migration-connection.ts'
import { againWhenLocked, compareMigrations, runPending, runTogether } from '@trestle/database/migrations/migrator.ts'
import { type Kysely, sql } from 'kysely'
import {
  type AdoptionPlaces,
  beginRecord,
  findRecord,
  lockTables,
  noteEnd,
  placesOf,
} from '../adoption/adoption-record.ts'
import { copyAuditLog, describeRewritten } from '../adoption/copy-audit-log.ts'
import { hideOwnTables } from '../adoption/hidden-tables.ts'
import type { Loss } from '../adoption/inspect-database.ts'
import { createEmailIndex, fillDirectory } from '../adoption/prepare-users.ts'
import { countChanges, prepareStaging, replayChanges, stageRefreshTokens } from '../adoption/stage-refresh-tokens.ts'
import {
  earlyMigrations,
  listReplaced,
  migrationsInPlace,
  type SwitchDeps,
  stayingTables,
  switchHooks,
} from '../adoption/switch-tables.ts'
import { makeUpstreamChanges } from '../adoption/upstream-changes.ts'
import { requireAdoptable } from '../adoption/upstream-database.ts'
import type { AuthDeps } from '../deps.ts'
import { adoptOptions } from '../migrations.ts'

export type AdoptDatabaseDeps = Pick<AuthDeps, 'config' | 'encryptionKeys' | 'now' | 'randomBytes'>

/** What an adoption has done. */
export interface Adoption {
  /** The newest migration of supabase/auth. */
  readonly version: string
  /** How long the old service had to wait, in milliseconds; undefined where an earlier run had switched. */
  readonly switchMs: number | undefined
  /** Custom providers that were not copied. */
  readonly leftProviders: readonly string[]
  /** What did not carry over as it is. */
  readonly losses: readonly Loss[]
}

interface AdoptChoice {
  /** Whether a version that is newer than this release knows may be adopted. */
  readonly force: boolean
  readonly report: (line: string) => void
}

/** The old service waits while the last transaction replays changes of sessions, so it replays at most this many. */
const PENDING_MAX = 10_000
/** With so few changes left, a further round before the switch saves the old service no time. */
const PENDING_WANTED = 100
/** How often the changes of the meantime are replayed before the switch. Each round is shorter than the one before. */
const ROUNDS_MAX = 20

/**
 * Turns a database of supabase/auth into one of this service, in place (reference: Adopting a database). The old service serves
 * until the last transaction. A run that was killed is continued by the next one.
 * @throws Error where the database cannot be adopted, while another run is at work, and where the old service writes faster than
 * its changes are copied
 */
export function adoptDatabase(deps: AdoptDatabaseDeps, choice: AdoptChoice): Promise<Adoption> {
  return alone(adoptOptions(deps.config), () => adopt(deps, choice))
}

/**
 * Keeps other runs away. The lock belongs to a connection, because an index that is made without a lock waits for every open
 * transaction, and one of them would hold the lock.
 */
function alone<T>({ url, names }: MigrationTarget, use: () => Promise<T>): Promise<T> {
  return withDatabase({ url }, (db) =>
    db.connection().execute(async (connection) => {
      const { rows } = await sql<{ isMine: boolean }>`
        SELECT pg_try_advisory_lock(hashtext(${`auth adopt ${names.schema}`})) AS "isMine"`.execute(connection)
      if (rows[0]?.isMine !== true) throw new Error('another run of auth adopt is at work: wait until it has ended')
      return use()
    }),
  )
}

async function adopt(deps: AdoptDatabaseDeps, { force, report }: AdoptChoice): Promise<Adoption> {
  const options = adoptOptions(deps.config)
  const { url, names } = options
  const places = placesOf(names)
  const switchDeps: SwitchDeps = { places, encryptionKeys: deps.encryptionKeys, ...settingsOf(deps) }
  const record = await underLock({ url, names }, async (db) => {
    const found = await findRecord(db, places)
    if (found !== undefined) return found
    const version = await requireAdoptable(db, { names, force, role: deps.config.database.role })
    await beginRecord(db, places, version)
    return { version, switchedAt: null }
  })
  const { version, switchedAt } = record
  // PostgreSQL makes an index without a lock once every open transaction has ended, that of the lock too.
  if (switchedAt === null) await withDatabase({ url }, (db) => createEmailIndex(db, names))
  const outcome = await underLock({ url, names }, async (db) => {
    // Another run may have switched meanwhile.
    if ((await findRecord(db, places))?.switchedAt !== null) return { switchMs: undefined, leftProviders: [] }
    await prepare(db, switchDeps, report)
    return switchOver(db, switchDeps)
  })
  await migrateUp(options)
  const losses = await underLock({ url, names }, (db) => finish(db, places))
  return { version, ...outcome, losses }
}

function settingsOf({
  config,
  encryptionKeys,
  now,
  randomBytes,
}: AdoptDatabaseDeps): Pick<SwitchDeps, 'lifetimes' | 'sealing'> {
  return {
    sealing: { encryptionKeys, randomBytes },
    lifetimes: {
      now: now(),
      mailCodeSeconds: config.mail.codeLifetimeSeconds,
      smsCodeSeconds: config.sms.codeLifetimeSeconds,
      flowSeconds: config.external.flowStateLifetimeMs / 1_000,
    },
  }
}

/** Everything that may take long, while the old service serves. */
async function prepare(db: Kysely<unknown>, deps: SwitchDeps, report: (line: string) => void): Promise<void> {
  const { names } = deps.places
  const sources = await earlyMigrations(names)
  const beforeFirst = async (trx: Kysely<unknown>, attempt: number) => {
    await lockTables(trx, stayingTables(names), { mode: 'ACCESS EXCLUSIVE', attempt })
    await makeUpstreamChanges(trx, deps.places, 'harmless')
    return async () => {}
  }
  const { pending } = await compareMigrations(db, { names, sources })
  await runPending(db, { names, sources, beforeFirst }, pending)
  await hideOwnTables(db, names, await listReplaced(names))
  await fillDirectory(db, deps.places)
  report('the directory of users is filled')
  await againWhenLocked((attempt) => prepareStaging(db, deps, attempt))
  await againWhenLocked(() => stageRefreshTokens(db, deps))
  report('the refresh tokens are copied')
}

async function switchOver(
  db: Kysely<unknown>,
  deps: SwitchDeps,
): Promise<Pick<Adoption, 'switchMs' | 'leftProviders'>> {
  for (let round = 0; round < ROUNDS_MAX && (await countChanges(db, deps.places)) > PENDING_WANTED; round += 1)
    await againWhenLocked(() => db.transaction().execute((trx) => replayChanges(trx, deps)))
  const pending = await countChanges(db, deps.places)
  if (pending > PENDING_MAX)
    throw new Error(
      `${pending} changes wait, at most ${PENDING_MAX} may: the old service writes faster than they are copied. Run this again at a quieter time`,
    )
  const { beforeFirst, outcome } = switchHooks(deps)
  const { staging, names } = deps.places
  await runTogether(db, { names, sources: migrationsInPlace(staging), beforeFirst })
  const { lockedAtMs, leftProviders } = outcome()
  return { switchMs: performance.now() - lockedAtMs, leftProviders }
}

/** A finished adoption copies nothing again: clean-up may have deleted entries that the old service had. */
async function finish(db: Kysely<unknown>, places: AdoptionPlaces): Promise<readonly Loss[]> {
  if ((await findRecord(db, places))?.finishedAt !== null) return []
  const { rewritten } = await copyAuditLog(db, places)
  await noteEnd(db, places)
  return describeRewritten(rewritten)
}
