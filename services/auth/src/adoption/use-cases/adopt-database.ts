import { migrateUp } from '@trestle/database/migrations/migrate.ts'
import { againWhenLocked, underLock } from '@trestle/database/migrations/migration-connection.ts'
import { inLatest, runTogether } from '@trestle/database/migrations/migrator.ts'
import type { Kysely } from 'kysely'
import { adoptOptions, createJobQueue } from '../../migrations.ts'
import {
  type AdoptionDeps,
  type AdoptionPlaces,
  findRecord,
  hasSwitched,
  placesOf,
  recordFinish,
} from '../adoption-record.ts'
import { migrationsInPlace } from '../changes/added-columns.ts'
import { copyAuditLog, describeRewritten } from '../copy/copy-audit-log.ts'
import { type AdoptionRun, beginAdoption, prepareSwitch, withoutOtherRuns } from '../prepare/begin-adoption.ts'
import { countChanges, replayChanges } from '../prepare/stage-refresh-tokens.ts'
import { checkForeignKeys, type SwitchDeps, switchDepsOf, switchHooks } from '../switch-tables.ts'
import type { Loss } from '../upstream-tables.ts'

/** The report of a successful adoption. */
export interface Adoption {
  /** The newest migration of supabase/auth. */
  readonly version: string
  /** How long the old service had to wait, in milliseconds. `undefined` if an earlier run had made the switch. */
  readonly switchMs: number | undefined
  /** Custom providers that were not copied. */
  readonly leftProviders: readonly string[]
  /** The rows that could not be carried over unchanged. */
  readonly losses: readonly Loss[]
}

/** The largest number of changed sessions that the last transaction replays, because the old service waits meanwhile. */
const PENDING_MAX = 10_000
/** With at most this many changes left, another round before the switch would not shorten the wait of the old service. */
const PENDING_WANTED = 100
/** The largest number of rounds that replay new changes before the switch. Each is shorter than the previous one. */
const ROUNDS_MAX = 20

/**
 * Turns a database of supabase/auth into one of this service, in place (reference: Adopting a database). The old service can work
 * until the last transaction. After a killed run, the next run continues.
 * @throws Error if the database cannot be adopted, while another run is active, or if the old service writes faster than its
 * changes are copied. An error after the switch says that this service has taken over
 */
export function adoptDatabase(deps: AdoptionDeps, run: AdoptionRun): Promise<Adoption> {
  return withoutOtherRuns(adoptOptions(deps.config), () => adopt(deps, run))
}

async function adopt(deps: AdoptionDeps, run: AdoptionRun): Promise<Adoption> {
  const options = adoptOptions(deps.config)
  const places = placesOf(options.names)
  const switchDeps = switchDepsOf(deps, places)
  const version = await beginAdoption(options, deps.config.database.role, run)
  const outcome = await underLock(options, async (db) => {
    if (await hasSwitched(db, places)) return { switchMs: undefined, leftProviders: [] }
    // Create the queue before the switch. It waits for a lock, which every role that may connect can hold.
    await createJobQueue(db, deps.config)
    await prepareSwitch(db, switchDeps, run)
    return switchOver(db, switchDeps)
  })
  const losses = await afterSwitch(async () => {
    await migrateUp(options)
    return underLock(options, (db) => finish(db, places))
  })
  return { version, ...outcome, losses }
}

/** Adds to errors that the switch has happened. Otherwise an operator may restart the old service, which signs users out. */
async function afterSwitch<T>(use: () => Promise<T>): Promise<T> {
  try {
    return await use()
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(
      `${reason}\nthis service has taken over: do not start the old one again. Mend the cause, run auth adopt again, which does what is left, and start this service`,
      { cause: error },
    )
  }
}

async function switchOver(
  db: Kysely<unknown>,
  deps: SwitchDeps,
): Promise<Pick<Adoption, 'switchMs' | 'leftProviders'>> {
  for (let round = 0; round < ROUNDS_MAX && (await countChanges(db, deps.places)) > PENDING_WANTED; round += 1)
    await againWhenLocked(() => inLatest(db).execute((trx) => replayChanges(trx, deps)))
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

/** A finished adoption copies nothing again, because clean-up may have deleted copied entries. */
async function finish(db: Kysely<unknown>, places: AdoptionPlaces): Promise<readonly Loss[]> {
  if ((await findRecord(db, places))?.finishedAt !== null) return []
  await checkForeignKeys(db, places.names)
  const { rewritten } = await copyAuditLog(db, places)
  await recordFinish(db, places)
  return describeRewritten(rewritten)
}

/**
 * Does all parts of an adoption that may take long, while the old service works, and stops before the switch. `adoptDatabase`
 * then takes only seconds.
 * @returns `false` if an earlier run has made the switch, so nothing is left to prepare
 * @throws Error if the database cannot be adopted, or while another run is active
 */
export function prepareAdoption(deps: AdoptionDeps, run: AdoptionRun): Promise<boolean> {
  const target = adoptOptions(deps.config)
  const places = placesOf(target.names)
  return withoutOtherRuns(target, async () => {
    await beginAdoption(target, deps.config.database.role, run)
    return underLock(target, async (db) => {
      if (await hasSwitched(db, places)) return false
      await createJobQueue(db, deps.config)
      await prepareSwitch(db, switchDepsOf(deps, places), run)
      return true
    })
  })
}
