import { type Kysely, sql } from 'kysely'
import { hasRelation } from '../../schema/catalog.ts'
import type { AdoptionDeps } from '../adoption-record.ts'
import { type CopiedEntries, copyAuditLog, describeRewritten } from '../copy/copy-audit-log.ts'
import { copyLiveRows } from '../copy/copy-live-rows.ts'
import { copyTokens } from '../copy/copy-refresh-tokens.ts'
import { copyCustomProviders, copyFlows, type SealedCopyContext } from '../copy/copy-sealed-rows.ts'
import { lifetimesOf } from '../copy/lifetimes.ts'
import type { Loss } from '../upstream-tables.ts'
import { holdBackDuplicates } from './hold-back-duplicates.ts'
import { findChanges, type HeldBack, listHeldBack, recordTakenRows, type TableChange } from './import-changes.ts'
import type { ImportRecord } from './import-record.ts'
import {
  createStages,
  dayOf,
  type Staging,
  stageEntries,
  stageOthers,
  stageUserPrints,
  stageUsers,
} from './stage-source.ts'
import { writeStagedUsers } from './write-staged-users.ts'

/** The report of the transaction of an import. */
export interface SnapshotImport {
  /** The result of each table here. */
  readonly tables: readonly TableChange[]
  /** The rows that have changed at the source and stay as they are here. */
  readonly heldBack: readonly HeldBack[]
  /** Custom providers that were not copied. */
  readonly leftProviders: readonly string[]
  /** The flows and the entries of the audit log that do not carry over as they are. */
  readonly losses: readonly Loss[]
}

/** The tables that an import writes. The service must not write them meanwhile. */
const WRITTEN = [
  ...['users', 'identities', 'sessions', 'mfa_amr_claims', 'mfa_factors', 'refresh_tokens', 'one_time_tokens'],
  ...['flow_state', 'webauthn_credentials', 'custom_oauth_providers'],
] as const
const BATCH_SESSIONS = 5_000

/** Writes what has changed at the source since the run before. The transaction of `staging` holds all of it. */
export async function importSnapshot(
  deps: AdoptionDeps,
  staging: Staging,
  { tokenOffset }: Pick<ImportRecord, 'tokenOffset'>,
): Promise<SnapshotImport> {
  const { trx, places } = staging
  const { names, kept } = places
  await sql`
    LOCK TABLE ${sql.join(WRITTEN.map((table) => names.id(table)))} IN SHARE ROW EXCLUSIVE MODE`.execute(trx)
  const lifetimes = lifetimesOf(deps.config, deps.now())
  const longestMs = Math.max(lifetimes.mailCodeSeconds, lifetimes.flowSeconds) * 1_000
  await createStages(staging)
  await stageUserPrints(staging)
  await stageOthers(staging, new Date(lifetimes.now.getTime() - longestMs))
  await findChanges(trx, places)
  await stageUsers(
    staging,
    sql`
    SELECT id FROM ${sql.id(kept, 'changes')} WHERE kind = 'user' AND change <> 'gone'`,
  )
  const leftFlows = await holdBackDuplicates(trx, places)
  await writeStagedUsers(trx, places, lifetimes.now)
  const { encryptionKeys, randomBytes } = deps
  const context: SealedCopyContext = {
    trx,
    places,
    users: sql.id(kept, 'users'),
    lifetimes,
    sealing: { encryptionKeys, randomBytes },
  }
  await deleteChanged(trx, staging)
  await copyFlows(context)
  await copyLiveRows(context)
  await copyStagedTokens(staging, { tokenOffset, encryptionKeys })
  const leftProviders = await copyCustomProviders(context)
  const tables = await recordTakenRows(trx, places, leftProviders)
  const { copied, rewritten } = await importAuditLog(staging)
  const entries = { table: 'audit_log_entries', added: copied, changed: 0, deleted: 0 }
  const heldBack = await listHeldBack(trx, places)
  await sql`DROP SCHEMA ${sql.id(kept)} CASCADE`.execute(trx)
  return {
    tables: [...tables, entries],
    heldBack,
    leftProviders,
    losses: [...leftFlows, ...describeRewritten(rewritten)],
  }
}

/** Flows and providers are copied anew when they have changed. */
async function deleteChanged(trx: Kysely<unknown>, { places: { names, kept } }: Staging): Promise<void> {
  for (const [table, kind] of Object.entries({ flow_state: 'flow', custom_oauth_providers: 'provider' })) {
    await sql`
      DELETE FROM ${names.id(table)} o USING ${sql.id(kept, 'changes')} c
      WHERE c.kind = ${kind} AND c.id = o.id AND c.change <> 'new'`.execute(trx)
  }
}

async function copyStagedTokens(
  { trx, places: { names, kept } }: Staging,
  { tokenOffset, encryptionKeys }: Pick<ImportRecord, 'tokenOffset'> & Pick<AdoptionDeps, 'encryptionKeys'>,
): Promise<void> {
  const { rows } = await sql<{ id: string }>`SELECT id FROM ${sql.id(kept, 'sessions')} ORDER BY id`.execute(trx)
  const copy = {
    old: sql.id(kept, 'refresh_tokens'),
    own: names.id('refresh_tokens'),
    sessions: names.id('sessions'),
    hasKeys: true,
    idOffset: tokenOffset,
    encryptionKeys,
  }
  for (let start = 0; start < rows.length; start += BATCH_SESSIONS) {
    const ids = rows.slice(start, start + BATCH_SESSIONS).map(({ id }) => id)
    await copyTokens(trx, copy, ids)
  }
}

/**
 * Entries are never changed: the days that have more or fewer of them are read again. The source may lack the
 * table. An entry does not become one of a user here whom no run has taken over.
 */
async function importAuditLog(staging: Staging): Promise<CopiedEntries> {
  const { trx, places, source } = staging
  if (!(await hasRelation(source.db, source.names.schema, 'audit_log_entries'))) return { copied: 0, rewritten: 0 }
  const { rows: days } = await sql<{ day: string; print: string }>`
    SELECT ${dayOf('t')}::text AS day, sum(hashtextextended(t.id::text, 0))::text AS print
    FROM ${source.names.id('audit_log_entries')} t GROUP BY 1`.execute(source.db)
  const { rows: changed } = await sql<{ day: string }>`
    INSERT INTO ${sql.id(places.record, 'taken_days')} AS t (day, print)
      SELECT * FROM unnest(${days.map(({ day }) => day)}::date[], ${days.map(({ print }) => print)}::numeric[])
      ON CONFLICT (day) DO UPDATE SET print = excluded.print WHERE t.print <> excluded.print
      RETURNING day::text`.execute(trx)
  await stageEntries(
    staging,
    changed.map(({ day }) => day),
  )
  const { names, record } = places
  return copyAuditLog(
    trx,
    places,
    (id) => sql`
    EXISTS (SELECT FROM ${names.id('users')} u WHERE u.id = ${id})
      AND NOT EXISTS (SELECT FROM ${sql.id(record, 'taken')} t WHERE t.kind = 'user' AND t.id = ${id})`,
  )
}
