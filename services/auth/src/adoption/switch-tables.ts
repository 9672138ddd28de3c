import type { Migrations } from '@trestle/database/migrations/migrator.ts'
import { violates } from '@trestle/database/violations.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, type RawBuilder, sql } from 'kysely'
import { hasRelation, readColumns, underPathOfTriggers } from '../schema/catalog.ts'
import { hideOwnTables, REFUSING_FUNCTION, REFUSING_TRIGGER } from '../schema/own-objects.ts'
import type { Encryption } from '../secrets/encrypted-secret.ts'
import { lockTables } from './adoption-locks.ts'
import { type AdoptionDeps, type AdoptionPlaces, findRecord, recordSwitch } from './adoption-record.ts'
import { listReplaced, moveTable } from './changes/added-columns.ts'
import { applyUpstreamChanges } from './changes/upstream-changes.ts'
import {
  boundSessionTimes,
  copyChallenges,
  copyCustomProviders,
  copyFlows,
  copyLiveRows,
  type Lifetimes,
  lifetimesOf,
  notAfter,
  recordAllSessionsCopied,
  recordCopies,
  recordUncopiedSessions,
  type SecretCopyContext,
} from './copy/copy-live-rows.ts'
import { beginMissingSessions, passCopiedNumbers } from './copy/copy-refresh-tokens.ts'
import { correctCopies, replayChanges, type StagingDeps } from './prepare/stage-refresh-tokens.ts'
import { dropStaging, dropTriggers } from './prepare/staging-tables.ts'
import { findVersion } from './upstream-tables.ts'

export interface SwitchDeps extends StagingDeps {
  /** Reads the lifetimes and the time during the switch, because the run may have taken hours before. */
  readonly readLifetimes: () => Lifetimes
  readonly encryption: Encryption
  /** The lifetime of a challenge of a second factor, in seconds. */
  readonly challengeSeconds: number
}

interface SwitchOutcome {
  /** The time at which the old service began to wait, by `performance.now()`. */
  readonly lockedAtMs: number
  /** Custom providers that were not copied. */
  readonly leftProviders: readonly string[]
}

/** The hooks of the last transaction of an adoption. */
interface Switch {
  /** Runs before the last migrations in their transaction. The returned function runs after them. */
  readonly beforeFirst: NonNullable<Migrations['beforeFirst']>
  /** Returns the outcome of the last attempt. Call it after the attempt has ended. */
  readonly outcome: () => SwitchOutcome
}

/**
 * The tables of supabase/auth that stay. They are locked, because a write between the copy and the switch would be lost. The lock
 * order is that of most transactions of the old service: the audit log and other moving tables first, `users` last.
 */
export const STAYING = ['mfa_factors', 'sessions', 'mfa_amr_claims', 'identities', 'users'] as const
const FIRST_WRITTEN = 'audit_log_entries'
/** The migrations table of supabase/auth. It is write-protected, so that no newer image changes the tables later. */
const VERSIONS = 'schema_migrations'

export function switchDepsOf(
  { config, encryptionKeys, now, randomBytes }: AdoptionDeps,
  places: AdoptionPlaces,
): SwitchDeps {
  return {
    places,
    encryptionKeys,
    encryption: { encryptionKeys, randomBytes },
    challengeSeconds: config.mfa.challengeLifetimeSeconds,
    readLifetimes: () => lifetimesOf(config, now()),
  }
}

/** Returns the tables of supabase/auth that stay, in the order of their locks. */
export function stayingTables(names: Names): readonly RawBuilder<unknown>[] {
  return STAYING.map((table) => names.id(table))
}

/** Returns the hooks of an adoption's last transaction. It gives up if a request blocks it, and tries again. */
export function switchHooks(deps: SwitchDeps): Switch {
  const { places, readLifetimes, encryption, challengeSeconds } = deps
  const { names, kept } = places
  let outcome: SwitchOutcome = { lockedAtMs: performance.now(), leftProviders: [] }
  const beforeFirst: Switch['beforeFirst'] = async (trx, attempt) => {
    const moving = await presentOf(trx, places)
    const inOrder = moving.toSorted((one, other) => Number(other === FIRST_WRITTEN) - Number(one === FIRST_WRITTEN))
    const tables = [...inOrder.map((table) => names.id(table)), ...stayingTables(names)]
    // Lock the tables in the strongest mode that the changes below need. A later upgrade of the lock could deadlock with readers
    // that already wait for this transaction.
    await lockTables(trx, { places, tables }, attempt)
    const lockedAtMs = performance.now()
    await requireSameVersion(trx, places)
    await replayChanges(trx, deps)
    const areCopied = await correctCopies(trx, deps)
    await dropTriggers(trx, places)
    for (const table of moving) await moveTable(trx, [names.schema, kept], table)
    await applyUpstreamChanges(trx, places)
    // Until now, all users came from the old service, and clean-up keeps them. Later users get the default `false`.
    await sql`ALTER TABLE ${names.id('users')} ALTER COLUMN keep_unconfirmed SET DEFAULT false`.execute(trx)
    return async (later) => {
      await passCopiedNumbers(later, names)
      await addForeignKeys(later, names)
      const lifetimes = readLifetimes()
      const context: SecretCopyContext = { trx: later, places, users: names.id('users'), lifetimes, encryption }
      await copyFlows(context)
      await underPathOfTriggers(later, names, async () => {
        await copyLiveRows(context)
        await beginMissingSessions(later, places)
        await boundSessionTimes(context)
        await boundUserTimes(context)
      })
      await copyChallenges(context, challengeSeconds)
      outcome = { lockedAtMs, leftProviders: await copyCustomProviders(context) }
      await recordCopies(context)
      await (areCopied ? recordAllSessionsCopied(context) : recordUncopiedSessions(context))
      await recordSwitch(later, places)
      await hideOwnTables(later, names)
      for (const table of moving) await copyGrants(later, places, table)
      await refuseOldServer(later, places, [...STAYING, VERSIONS, ...(await listReplaced(names))])
      await dropStaging(later, places)
    }
  }
  return { beforeFirst, outcome: () => outcome }
}

/** The columns with times of past events, in the tables that stay. Columns of other programs are left out. */
const PAST: Readonly<Record<string, readonly string[]>> = {
  users: [
    ...['created_at', 'updated_at', 'invited_at', 'last_sign_in_at', 'email_confirmed_at', 'phone_confirmed_at'],
    ...['confirmation_sent_at', 'recovery_sent_at', 'email_change_sent_at', 'phone_change_sent_at'],
    ...['reauthentication_sent_at', 'claimed_at'],
  ],
  identities: ['created_at', 'updated_at', 'last_sign_in_at'],
  mfa_factors: ['created_at', 'updated_at'],
}

/**
 * Replaces future times of users, identities and factors by the time of the switch, because these tables stay. The copies of
 * codes have the same time. By this time, undo recognizes that no later message was sent.
 */
async function boundUserTimes({
  trx,
  places: { names },
  lifetimes,
}: Pick<SecretCopyContext, 'trx' | 'places' | 'lifetimes'>): Promise<void> {
  const now = sql`${lifetimes.now}::timestamptz`
  for (const [table, past] of Object.entries(PAST)) {
    const present = await readColumns(trx, names.schema, names.prefix + table)
    const columns = past.filter((column) => present.has(column)).map((column) => sql.id(column))
    const bounded = columns.map((column) => sql`${column} = ${notAfter(column, now)}`)
    const isAhead = columns.map((column) => sql`${column} > ${now}`)
    await sql`
      UPDATE ${names.id(table)} SET ${sql.join(bounded)} WHERE ${sql.join(isAhead, sql` OR `)}`.execute(trx)
  }
}

/** @throws Error if a newer image of the old service has migrated the database since the beginning of the run */
async function requireSameVersion(trx: Kysely<unknown>, places: AdoptionPlaces): Promise<void> {
  const [record, version] = [await findRecord(trx, places), await findVersion(trx, places.names)]
  if (record !== undefined && record.version !== version)
    throw new Error(
      `the old service has migrated the database from ${record.version} to ${version} meanwhile: stop it, and run auth adopt again`,
    )
}

/** Moves the tables of supabase/auth back to their schema. */
export async function moveBack(trx: Kysely<unknown>, { names, kept }: AdoptionPlaces): Promise<void> {
  for (const table of await listReplaced(names)) {
    if (await hasRelation(trx, kept, table)) await moveTable(trx, [kept, names.schema], table)
  }
}

/**
 * Grants the rights on a table of supabase/auth to the same roles on the new table of that name. Without them, a dump by such a
 * role would fail. A table that is created in the schema gets the schema's default privileges. The table of refresh tokens is
 * created in another schema and gets none. Rights on a column are granted if the new table has a column with the same name.
 */
async function copyGrants(trx: Kysely<unknown>, { names, kept }: AdoptionPlaces, table: string): Promise<void> {
  await sql`
    DO $$ DECLARE statement text; BEGIN
      FOR statement IN
        SELECT format('GRANT %s%s ON %s TO %s%s', a.privilege_type, g.columns,
            CASE c.relkind WHEN 'S' THEN 'SEQUENCE ' ELSE 'TABLE ' END || format('%I.%I', ${sql.lit(names.schema)}, c.relname),
            CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END,
            CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END)
        FROM pg_class c CROSS JOIN LATERAL (
          SELECT '' AS columns, c.relacl AS acl
          UNION ALL SELECT format(' (%I)', o.attname), o.attacl FROM pg_attribute o JOIN pg_attribute n USING (attname)
            WHERE o.attrelid = c.oid AND o.attacl IS NOT NULL AND NOT n.attisdropped
              AND n.attrelid = to_regclass(format('%I.%I', ${sql.lit(names.schema)}, c.relname))) g
        CROSS JOIN aclexplode(g.acl) a
        WHERE c.relnamespace = to_regnamespace(quote_ident(${sql.lit(kept)})) AND a.grantee <> c.relowner
          AND c.relname IN (${sql.lit(table)}, ${sql.lit(`${table}_id_seq`)})
          AND to_regclass(format('%I.%I', ${sql.lit(names.schema)}, c.relname)) IS NOT NULL
      LOOP EXECUTE statement; END LOOP;
    END $$`.execute(trx)
}

async function presentOf(trx: Kysely<unknown>, { names }: AdoptionPlaces): Promise<readonly string[]> {
  const present: string[] = []
  for (const table of await listReplaced(names)) if (await hasRelation(trx, names.schema, table)) present.push(table)
  return present
}

/**
 * The foreign keys of tables that are filled while the old service is running. They are added only in the switch. A foreign key
 * check locks the parent row of supabase/auth, and a refresh there skips locked rows.
 */
const FOREIGN_KEYS = [
  { name: 'user_directory_user_fkey', table: 'user_directory', column: 'user_id', parent: 'users' },
  { name: 'refresh_tokens_session_fkey', table: 'refresh_tokens', column: 'session_id', parent: 'sessions' },
] as const
type ForeignKey = (typeof FOREIGN_KEYS)[number]

/** Adds the foreign keys for later writes. `checkForeignKeys` checks the existing rows later, which takes seconds. */
async function addForeignKeys(trx: Kysely<unknown>, { id, local }: Names): Promise<void> {
  for (const { name, table, column, parent } of FOREIGN_KEYS)
    await sql`
      ALTER TABLE ${id(table)} ADD CONSTRAINT ${local(name)}
      FOREIGN KEY (${sql.id(column)}) REFERENCES ${id(parent)} (id) ON DELETE CASCADE NOT VALID`.execute(trx)
}

/**
 * Checks the rows from before the switch, and deletes rows whose user or session no longer exists. A user may be deleted while
 * the directory is filled, and no trigger notes a session that a replica deletes. Blocks no requests. Does nothing if an earlier
 * run has completed the check.
 */
export async function checkForeignKeys(db: Kysely<unknown>, names: Names): Promise<void> {
  for (const key of FOREIGN_KEYS) {
    if (await isValid(db, names, key)) continue
    const check = sql`ALTER TABLE ${names.id(key.table)} VALIDATE CONSTRAINT ${names.local(key.name)}`
    try {
      await check.execute(db)
    } catch (error) {
      if (!violates(error, names, key.name)) throw error
      await deleteOrphans(db, names, key)
      await check.execute(db)
    }
  }
}

async function isValid(db: Kysely<unknown>, { schema }: Names, { name, table }: ForeignKey): Promise<boolean> {
  const { rows } = await sql`
    SELECT FROM pg_constraint
    WHERE conrelid = to_regclass(format('%I.%I', ${schema}::text, ${table}::text)) AND conname = ${name} AND convalidated`.execute(
    db,
  )
  return rows.length > 0
}

async function deleteOrphans(db: Kysely<unknown>, { id }: Names, { table, column, parent }: ForeignKey): Promise<void> {
  await sql`
    DELETE FROM ${id(table)} t WHERE NOT EXISTS (SELECT FROM ${id(parent)} p WHERE p.id = t.${sql.id(column)})`.execute(
    db,
  )
}

/**
 * Refuses every write of an old server that is started again after the switch (reference: Adopting a database). Most of its
 * transactions need a table that has moved and fail anyway. But with refresh tokens of form 2 and
 * GOTRUE_AUDIT_LOG_DISABLE_POSTGRES=true, a sign-in, a refresh or a sign-out writes only to tables that stay.
 *
 * The old server and this service log in as the owner of the tables and change the same columns. The trigger recognizes the old
 * server by its statements, which name tables without a schema. No statement of this service does so. Other roles may write. The
 * SQLSTATE makes recent versions of the old server answer a sign-up with 503. A refresh fails with 500 before it writes, because
 * the old server answers every error of its first SELECT with 500. So stop the old server before the switch (runbook: Moving in).
 */
async function refuseOldServer(trx: Kysely<unknown>, places: AdoptionPlaces, tables: readonly string[]): Promise<void> {
  await sql`
    CREATE OR REPLACE FUNCTION ${functionOf(places)}() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
    BEGIN
      IF current_query() ~* ('^\\s*(insert\\s+into|update|delete\\s+from)\\s+"?' || TG_TABLE_NAME || '"?[\\s(]')
        AND session_user = (SELECT pg_get_userbyid(relowner) FROM pg_class WHERE oid = TG_RELID) THEN
        RAISE EXCEPTION 'auth has adopted this database: stop the server of supabase/auth that still runs' USING ERRCODE = 'PT503';
      END IF;
      RETURN NULL;
    END $$`.execute(trx)
  for (const table of tables) {
    if (!(await hasRelation(trx, places.names.schema, table))) continue
    await sql`
      CREATE TRIGGER ${sql.id(REFUSING_TRIGGER)} BEFORE INSERT OR UPDATE OR DELETE ON ${places.names.id(table)}
      FOR EACH STATEMENT EXECUTE FUNCTION ${functionOf(places)}()`.execute(trx)
  }
}

/** Lets the old server write again, to the tables that it gets back. */
export async function allowOldServer(trx: Kysely<unknown>, places: AdoptionPlaces): Promise<void> {
  await sql`DROP FUNCTION IF EXISTS ${functionOf(places)}() CASCADE`.execute(trx)
}

function functionOf({ names }: AdoptionPlaces): RawBuilder<unknown> {
  return names.id(REFUSING_FUNCTION)
}
