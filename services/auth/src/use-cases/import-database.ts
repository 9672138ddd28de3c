import { underLock } from '@trestle/database/migrations/migration-connection.ts'
import { compareMigrations, inLatest } from '@trestle/database/migrations/migrator.ts'
import { type Kysely, sql } from 'kysely'
import { lifetimesOf } from '../adoption/begin-adoption.ts'
import { hasRelation } from '../adoption/catalog.ts'
import { listClientSessions } from '../adoption/client-sessions.ts'
import { type CopiedEntries, copyAuditLog, describeRewritten } from '../adoption/copy-audit-log.ts'
import { copyLiveRows } from '../adoption/copy-live-rows.ts'
import { copyTokens } from '../adoption/copy-refresh-tokens.ts'
import { copyCustomProviders, copyFlows, type SealedCopyContext } from '../adoption/copy-sealed-rows.ts'
import { holdCollisions } from '../adoption/hold-collisions.ts'
import {
  findChanges,
  type HeldBack,
  listHeldBack,
  recordTakenRows,
  type TableChange,
} from '../adoption/import-changes.ts'
import { type ImportRecord, importPlacesOf, openRecord } from '../adoption/import-record.ts'
import { countRows, type Loss, listBrokenValues, listClosedSecrets, UNSERVED } from '../adoption/inspect-database.ts'
import { type AdminGroup, listAdmins } from '../adoption/list-admins.ts'
import { countLoneTokens } from '../adoption/lone-tokens.ts'
import { listLostSignIns } from '../adoption/lost-sign-ins.ts'
import { listOddPhones } from '../adoption/odd-phones.ts'
import { listOtherInstances, type OtherInstances } from '../adoption/other-instances.ts'
import { listSharedEmails } from '../adoption/prepare-users.ts'
import {
  listForeignKeys,
  requireHarmlessReader,
  type Source,
  type SourceAddress,
  setFormats,
  withSource,
} from '../adoption/source-database.ts'
import {
  createStages,
  dayOf,
  type Staging,
  stageEntries,
  stageOthers,
  stageUserPrints,
  stageUsers,
} from '../adoption/stage-source.ts'
import { listOtherColumns } from '../adoption/upstream-columns.ts'
import { requireReadable } from '../adoption/upstream-database.ts'
import { writeStagedUsers } from '../adoption/write-staged-users.ts'
import type { AuthDeps } from '../deps.ts'
import { migrateOptions } from '../migrations.ts'

type ImportDatabaseDeps = Pick<AuthDeps, 'config' | 'encryptionKeys' | 'now' | 'randomBytes'>

/** The report of an import that has succeeded. */
export interface DatabaseImport {
  /** The newest migration of supabase/auth at the source. */
  readonly version: string
  /** The result of each table here. */
  readonly tables: readonly TableChange[]
  /** The rows that have changed at the source and stay as they are here. */
  readonly heldBack: readonly HeldBack[]
  /** Custom providers that were not copied. */
  readonly leftProviders: readonly string[]
  /** Emails of which several users have one, in lower case. The oldest confirmed user of each keeps it for sign-ins. */
  readonly sharedEmails: readonly string[]
  /** Users of the source who are admins here, as they are there. */
  readonly admins: readonly AdminGroup[]
  /** Users of the source who cannot sign in there, and can here. */
  readonly otherInstances: OtherInstances
  /** The users who cannot sign in afterwards, by reason, and what else does not carry over as it is. */
  readonly losses: readonly Loss[]
  /** Tables of supabase/auth with rows that are not copied, since this service does not serve what they are for. */
  readonly notYetServed: ReadonlyMap<string, number>
  /** Foreign keys of other tables to the users of the source. These tables are not copied. */
  readonly foreignKeys: readonly string[]
  /** Columns that others have added to tables of supabase/auth, such as `users.tenant_id`. They are not copied. */
  readonly otherColumns: readonly string[]
}

/** The tables that an import writes. The service must not write them meanwhile. */
const WRITTEN = [
  ...['users', 'identities', 'sessions', 'mfa_amr_claims', 'mfa_factors', 'refresh_tokens', 'one_time_tokens'],
  ...['flow_state', 'webauthn_credentials', 'custom_oauth_providers'],
] as const
const BATCH_SESSIONS = 5_000

/** The source. `force`: whether to read a version of supabase/auth that is newer than this release knows. */
export interface ImportDatabaseInput extends SourceAddress {
  readonly force: boolean
}

/**
 * Takes over what another server of supabase/auth has, from one snapshot of its database, in which nothing is written (reference:
 * Importing a database). A later run takes what has changed since. All of it is one transaction here: a run that was killed has
 * done nothing.
 * @throws Error where a database is not what it must be, or the user of the source may do more there than read
 */
export async function importDatabase(deps: ImportDatabaseDeps, input: ImportDatabaseInput): Promise<DatabaseImport> {
  const { url, names, sources } = migrateOptions(deps.config)
  const places = importPlacesOf(names)
  // The lock comes before the snapshot: otherwise a run that waited would write an older state over a newer one.
  return underLock({ url, names }, (db) =>
    withSource(input, async (source) => {
      await requireHarmlessReader(source)
      const version = await requireReadable(source.db, { names: source.names, force: input.force })
      const description = await describeSource(deps, source)
      const { pending } = await compareMigrations(db, { names, sources })
      if (pending.length > 0)
        throw new Error(`the schema ${names.schema} of this service is not up to date: run auth migrate`)
      const done = await inLatest(db).execute(async (trx) => {
        await setFormats(trx)
        const staging = { trx, places, source }
        return importSnapshot(deps, staging, await openRecord(staging))
      })
      return { version, ...done, ...description, losses: [...description.losses, ...done.losses] }
    }),
  )
}

async function importSnapshot(
  deps: ImportDatabaseDeps,
  staging: Staging,
  { tokenOffset }: ImportRecord,
): Promise<Pick<DatabaseImport, 'tables' | 'heldBack' | 'leftProviders' | 'losses'>> {
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
  await holdCollisions(trx, places)
  await writeStagedUsers(trx, places)
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
  return { tables: [...tables, entries], heldBack, leftProviders, losses: describeRewritten(rewritten) }
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
  { tokenOffset, encryptionKeys }: Pick<ImportRecord, 'tokenOffset'> & Pick<ImportDatabaseDeps, 'encryptionKeys'>,
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

async function describeSource(
  { config: { jwt, behaviours }, encryptionKeys }: ImportDatabaseDeps,
  source: Source,
): Promise<Omit<DatabaseImport, 'version' | 'tables' | 'heldBack' | 'leftProviders'>> {
  const { db } = source
  const unserved = await countRows(db, source, UNSERVED)
  return {
    sharedEmails: await listSharedEmails(db, source.names),
    admins: await listAdmins(db, source, jwt.adminRoles),
    otherInstances: await listOtherInstances(db, source),
    losses: [
      ...(await listLostSignIns(db, source, jwt.audience)),
      ...(await listClosedSecrets(db, source, encryptionKeys)),
      ...(await listBrokenValues(db, source)),
      ...(await listClientSessions(db, source, 'they are not copied')),
      ...describeLoneTokens(await countLoneTokens(db, source)),
      ...(await listOddPhones(db, source, { areFound: behaviours.findUserByMalformedPhone })),
    ],
    notYetServed: new Map([...unserved].filter(([, count]) => count > 0)),
    foreignKeys: await listForeignKeys(source),
    otherColumns: await listOtherColumns(source),
  }
}

function describeLoneTokens(count: number): readonly Loss[] {
  return count === 0 ? [] : [{ what: 'refresh tokens from before sessions: their users sign in again', count }]
}
