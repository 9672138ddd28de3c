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
  /** Reads the lifetimes and the time when the old service waits: a run may have worked for hours before. */
  readonly readLifetimes: () => Lifetimes
  readonly encryption: Encryption
  /** How long a challenge of a second factor counts. */
  readonly challengeSeconds: number
}

interface SwitchOutcome {
  /** When the old service began to wait, by `performance.now()`. */
  readonly lockedAtMs: number
  /** Custom providers that were not copied. */
  readonly leftProviders: readonly string[]
}

/** The last transaction of an adoption. */
interface Switch {
  /** The work before the last migrations, and after them, in their transaction. */
  readonly beforeFirst: NonNullable<Migrations['beforeFirst']>
  /** The outcome of the last attempt, once it has ended. */
  readonly outcome: () => SwitchOutcome
}

/**
 * The tables of supabase/auth that stay. A write of the old service between the copy and the switch would be lost. Most of its
 * transactions write the audit log first, and `users` last: the tables are locked in this order, after the tables that move.
 */
export const STAYING = ['mfa_factors', 'sessions', 'mfa_amr_claims', 'identities', 'users'] as const
const FIRST_WRITTEN = 'audit_log_entries'
/** Where supabase/auth records its migrations. A newer image that starts after the switch would change the tables. */
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

/** The tables of supabase/auth that stay, in the order in which they are locked. */
export function stayingTables(names: Names): readonly RawBuilder<unknown>[] {
  return STAYING.map((table) => names.id(table))
}

/** The last transaction of an adoption, in which the old service waits. It gives way to its requests, and tries again. */
export function switchHooks(deps: SwitchDeps): Switch {
  const { places, readLifetimes, encryption, challengeSeconds } = deps
  const { names, kept } = places
  let outcome: SwitchOutcome = { lockedAtMs: performance.now(), leftProviders: [] }
  const beforeFirst: Switch['beforeFirst'] = async (trx, attempt) => {
    const moving = await presentOf(trx, places)
    const inOrder = moving.toSorted((one, other) => Number(other === FIRST_WRITTEN) - Number(one === FIRST_WRITTEN))
    const tables = [...inOrder.map((table) => names.id(table)), ...stayingTables(names)]
    // The changes below need this mode. If the transaction asked for it later, it would wait for readers that wait for the
    // transaction.
    await lockTables(trx, { places, tables }, attempt)
    const lockedAtMs = performance.now()
    await requireSameVersion(trx, places)
    await replayChanges(trx, deps)
    const areCopied = await correctCopies(trx, deps)
    await dropTriggers(trx, places)
    for (const table of moving) await moveTable(trx, [names.schema, kept], table)
    await applyUpstreamChanges(trx, places)
    // Until now, users came from the old service. Clean-up keeps them.
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

/** The times of past events, in the tables that stay. Others may have columns of their own there. */
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
 * Takes the future out of the times of users, identities and factors, which stay. They get the moment that the copies of codes
 * have, by which undo sees that no later message was sent.
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

/** A newer image of the old service may have migrated the database since the run has begun. @throws Error where it has */
async function requireSameVersion(trx: Kysely<unknown>, places: AdoptionPlaces): Promise<void> {
  const [record, version] = [await findRecord(trx, places), await findVersion(trx, places.names)]
  if (record !== undefined && record.version !== version)
    throw new Error(
      `the old service has migrated the database from ${record.version} to ${version} meanwhile: stop it, and run auth adopt again`,
    )
}

/** Brings the tables of supabase/auth back to their schema. */
export async function moveBack(trx: Kysely<unknown>, { names, kept }: AdoptionPlaces): Promise<void> {
  for (const table of await listReplaced(names)) {
    if (await hasRelation(trx, kept, table)) await moveTable(trx, [kept, names.schema], table)
  }
}

/**
 * Gives the roles that had rights on a table of supabase/auth the same rights on the table that has its name
 * now. A dump by such a role would fail otherwise. A table that is made in the schema has the default
 * privileges there. The table of refresh tokens is made elsewhere, without default privileges. A right on a
 * column is given where the new table has a column of that name.
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
 * The foreign keys of tables that are filled while the old service serves. A check for each row would lock the row of
 * supabase/auth, and a refresh there passes over a locked row.
 */
const FOREIGN_KEYS = [
  { name: 'user_directory_user_fkey', table: 'user_directory', column: 'user_id', parent: 'users' },
  { name: 'refresh_tokens_session_fkey', table: 'refresh_tokens', column: 'session_id', parent: 'sessions' },
] as const
type ForeignKey = (typeof FOREIGN_KEYS)[number]

/** Adds the keys in the switch. They hold from then on. To check the rows that are there takes seconds, so it comes later. */
async function addForeignKeys(trx: Kysely<unknown>, { id, local }: Names): Promise<void> {
  for (const { name, table, column, parent } of FOREIGN_KEYS)
    await sql`
      ALTER TABLE ${id(table)} ADD CONSTRAINT ${local(name)}
      FOREIGN KEY (${sql.id(column)}) REFERENCES ${id(parent)} (id) ON DELETE CASCADE NOT VALID`.execute(trx)
}

/**
 * Checks the rows from before the switch, and deletes rows whose user or session is gone. A user may be deleted while the
 * directory is filled, and no trigger notes a session that a replica deletes. Locks nobody out. Does nothing where an earlier run
 * has.
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
 * transactions need a table that has moved. But with refresh tokens of form 2 and GOTRUE_AUDIT_LOG_DISABLE_POSTGRES=true, a
 * sign-in, a refresh or a sign-out writes to the tables that stay alone.
 *
 * The old server logs in as the owner of the tables, as this service does, and changes the same columns. It
 * is known by its statements: they name tables without the schema, which no statement of this service does.
 * Other roles may write as they like. The SQLSTATE makes recent versions of the old server answer a sign-up
 * with 503. A refresh fails with 500 before it writes: every error of its first SELECT is a 500 there.
 * Therefore the old server is stopped before the switch (runbook: Moving in).
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

/** Lets the old server write again, to the tables that it will have. */
export async function allowOldServer(trx: Kysely<unknown>, places: AdoptionPlaces): Promise<void> {
  await sql`DROP FUNCTION IF EXISTS ${functionOf(places)}() CASCADE`.execute(trx)
}

function functionOf({ names }: AdoptionPlaces): RawBuilder<unknown> {
  return names.id(REFUSING_FUNCTION)
}
