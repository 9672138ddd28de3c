import { inLatest } from '@trestle/database/migrations/migrator.ts'
import { createRefreshTokens } from '@trestle/migrations/auth/0008-create-refresh-tokens.ts'
import { type Kysely, type RawBuilder, sql } from 'kysely'
import { NIL_UUID } from '../records/ids.ts'
import type { EncryptionKeys } from '../secrets/sealed-secret.ts'
import { type AdoptionPlaces, lockTables } from './adoption-record.ts'
import { columnsOf, hasRelation } from './catalog.ts'
import { copyTokens, ID_GAP, type TokenCopy } from './copy-refresh-tokens.ts'

const BATCH_SESSIONS = 5_000
/** A session with a key, whatever the settings can open, and its print: what changes when the key or the counter does. */
const hasKey = sql`s.refresh_token_hmac_key IS NOT NULL AND s.refresh_token_counter IS NOT NULL`
const printOf = sql`hashtextextended(s.refresh_token_hmac_key, s.refresh_token_counter)`
/** The tables whose changes are noted, each with its column for the id of the session. */
const WATCHED = [
  { table: 'refresh_tokens', column: 'session_id' },
  { table: 'sessions', column: 'id' },
] as const

/** The sessions from whose key a token follows, with what `printOf` made of the key when it was copied. */
const KEYED = 'keyed_sessions'

/** What stands in the schema of copies, until the switch. */
export const STAGED_TABLES = ['refresh_tokens', 'changes', 'progress', KEYED] as const
/** The functions of the triggers that note changed sessions, in the schema of copies. */
export const STAGING_FUNCTIONS = WATCHED.map(({ table }) => `note_${table}()`)

/** What copies of refresh tokens work with. */
export interface StagingDeps {
  readonly places: AdoptionPlaces
  readonly encryptionKeys: EncryptionKeys
}

/**
 * Makes the table of refresh tokens beside that of supabase/auth, and triggers that note each session that changes from now on.
 * Does nothing where an earlier run has.
 * @param attempt from 1; the first attempts give way to requests of the old service
 */
export async function prepareStaging(db: Kysely<unknown>, { places }: StagingDeps, attempt: number): Promise<void> {
  const { names, staging } = places
  if (await hasRelation(db, staging, 'refresh_tokens')) return
  const id = (name: string) => (name.startsWith('refresh_tokens') ? sql.id(staging, name) : names.id(name))
  await inLatest(db).execute(async (trx) => {
    const tables = WATCHED.map(({ table }) => names.id(table))
    await lockTables(trx, tables, { mode: 'SHARE ROW EXCLUSIVE', attempt })
    await createRefreshTokens({ ...names, id }).up(trx)
    await sql`
      CREATE TABLE ${sql.id(staging, 'progress')} AS
      SELECT ${NIL_UUID}::uuid AS after, coalesce(max(id), 0) + ${sql.lit(ID_GAP)} AS first_derived
      FROM ${names.id('refresh_tokens')}`.execute(trx)
    // A publication FOR ALL TABLES forbids to update a table without a primary key.
    await sql`ALTER TABLE ${sql.id(staging, 'progress')} ADD PRIMARY KEY (first_derived)`.execute(trx)
    await sql`
      SELECT setval(${`"${staging}".refresh_tokens_id_seq`}, first_derived, false)
      FROM ${sql.id(staging, 'progress')}`.execute(trx)
    await sql`
      CREATE TABLE ${sql.id(staging, 'changes')} (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, session_id uuid)`.execute(
      trx,
    )
    await sql`CREATE TABLE ${sql.id(staging, KEYED)} (session_id uuid PRIMARY KEY, print bigint NOT NULL)`.execute(trx)
    await createTriggers(trx, places)
  })
}

/** The triggers have the rights of their owner: whatever changes a session is noted. */
async function createTriggers(trx: Kysely<unknown>, { names, staging }: AdoptionPlaces): Promise<void> {
  for (const { table, column } of WATCHED) {
    const note = sql.id(staging, `note_${table}`)
    await sql`
      CREATE FUNCTION ${note}() RETURNS trigger LANGUAGE plpgsql
      SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
      BEGIN
        INSERT INTO ${sql.id(staging, 'changes')} (session_id) VALUES (coalesce(NEW.${sql.id(column)}, OLD.${sql.id(column)}));
        RETURN NULL;
      END
      $$`.execute(trx)
    await sql`
      CREATE TRIGGER trestle_note_change AFTER INSERT OR UPDATE OR DELETE ON ${names.id(table)}
      FOR EACH ROW EXECUTE FUNCTION ${note}()`.execute(trx)
  }
}

/** Removes the triggers of `prepareStaging`. */
export async function dropTriggers(trx: Kysely<unknown>, { names }: AdoptionPlaces): Promise<void> {
  for (const { table } of WATCHED)
    await sql`DROP TRIGGER IF EXISTS trestle_note_change ON ${names.id(table)}`.execute(trx)
}

/**
 * Copies the refresh tokens of all sessions, some sessions at a time. A later run goes on where this one ended, replays what
 * was noted since, and corrects the copies of the run before.
 */
export async function stageRefreshTokens(db: Kysely<unknown>, deps: StagingDeps): Promise<void> {
  while (
    await inLatest(db).execute(async (trx) => {
      const ids = await lockNextSessions(trx, deps.places)
      await copyTokensOf(trx, deps, ids)
      return ids.length > 0
    })
  );
  await inLatest(db).execute((trx) => replayChanges(trx, deps))
  await inLatest(db).execute((trx) => correctCopies(trx, deps))
}

async function lockNextSessions(trx: Kysely<unknown>, { names, staging }: AdoptionPlaces): Promise<readonly string[]> {
  const progress = sql.id(staging, 'progress')
  const { rows } = await sql<{ id: string }>`
    SELECT id FROM ${names.id('sessions')}
    WHERE id > (SELECT after FROM ${progress})
    ORDER BY id LIMIT ${sql.lit(BATCH_SESSIONS)} FOR KEY SHARE`.execute(trx)
  const last = rows.at(-1)
  if (last !== undefined) await sql`UPDATE ${progress} SET after = ${last.id}`.execute(trx)
  return rows.map(({ id }) => id)
}

/** How many notes of changed sessions wait. */
export async function countChanges(db: Kysely<unknown>, { staging }: AdoptionPlaces): Promise<number> {
  const { rows } = await sql<{ count: string }>`SELECT count(*) AS count FROM ${sql.id(staging, 'changes')}`.execute(db)
  return Number(rows[0]?.count ?? 0)
}

/** Copies the sessions anew that have changed since they were copied. @returns how many there were */
export async function replayChanges(trx: Kysely<unknown>, deps: StagingDeps): Promise<number> {
  const { rows } = await sql<{ id: string }>`
    WITH noted AS (DELETE FROM ${sql.id(deps.places.staging, 'changes')} RETURNING session_id)
    SELECT DISTINCT n.session_id AS id FROM noted n
    WHERE EXISTS (SELECT FROM ${deps.places.names.id('sessions')} s WHERE s.id = n.session_id)`.execute(trx)
  await copySessions(
    trx,
    deps,
    rows.map(({ id }) => id),
  )
  return rows.length
}

/**
 * Copies the sessions anew whose copies are not what the old service has. No trigger for rows notes TRUNCATE, nor what a session with
 * `session_replication_role = replica` writes: a token that ended in such a way must not work again. A run that lacked a key has
 * copied nothing of the sessions whose key it seals. Tokens that follow from the key of their session have the numbers from
 * `first_derived` on, those before have the numbers of the old service.
 * @returns whether every session with a key has a token that follows from it; false where that is not known
 */
export async function correctCopies(trx: Kysely<unknown>, deps: StagingDeps): Promise<boolean> {
  if (await areComplete(trx, deps.places)) return true
  const { names, staging } = deps.places
  const [own, old, sessions] = [sql.id(staging, 'refresh_tokens'), names.id('refresh_tokens'), names.id('sessions')]
  const firstDerived = sql`(SELECT first_derived FROM ${sql.id(staging, 'progress')})`
  const keyed = (await haveKeys(trx, deps.places))
    ? sql`
      UNION SELECT s.id FROM ${sessions} s WHERE ${hasKey} AND (
        NOT EXISTS (SELECT FROM ${own} t WHERE t.session_id = s.id AND t.id >= ${firstDerived})
        OR NOT EXISTS (SELECT FROM ${sql.id(staging, KEYED)} k WHERE k.session_id = s.id AND k.print = ${printOf}))
      UNION SELECT k.session_id FROM ${sql.id(staging, KEYED)} k
        WHERE NOT EXISTS (SELECT FROM ${sessions} s WHERE s.id = k.session_id AND ${hasKey})`
    : sql``
  const { rows } = await sql<{ id: string }>`
    SELECT t.session_id AS id FROM ${own} t
      WHERE t.id < ${firstDerived} AND NOT EXISTS (
        SELECT FROM ${old} o WHERE o.id = t.id AND o.session_id = t.session_id AND coalesce(o.revoked, false) = t.revoked
          AND (t.revoked OR sha256(convert_to(o.token, 'UTF8')) = t.token_hash))
    UNION SELECT o.session_id FROM ${old} o JOIN ${sessions} s ON s.id = o.session_id
      WHERE o.token <> '' AND NOT EXISTS (SELECT FROM ${own} t WHERE t.id = o.id)
    ${keyed}`.execute(trx)
  await copySessions(
    trx,
    deps,
    rows.map(({ id }) => id),
  )
  return false
}

/**
 * Whether the copies are what the old service has, by sums over either table. To join a million tokens takes seconds, in which requests
 * wait, and a sum takes a fraction of it. A token without its session makes the sums differ, and the joins find nothing to copy. The
 * values of revoked tokens are not compared: none of them continues a session.
 */
async function areComplete(trx: Kysely<unknown>, places: AdoptionPlaces): Promise<boolean> {
  const { names, staging } = places
  const own = sql.id(staging, 'refresh_tokens')
  const firstDerived = sql`(SELECT first_derived FROM ${sql.id(staging, 'progress')})`
  const sums = (hash: RawBuilder<unknown>) => sql`
    count(*), sum(uuid_hash_extended(session_id, id * 2 + CASE WHEN coalesce(revoked, false) THEN 1 ELSE 0 END)),
    sum(hashtextextended(encode(${hash}, 'hex'), id)) FILTER (WHERE revoked IS NOT TRUE)`
  const keys = sql`count(*), sum(uuid_hash_extended(session_id, print))`
  // Each session with a key has one token that follows from it and is not spent.
  const keyed = (await haveKeys(trx, places))
    ? sql`SELECT s.id AS session_id, ${printOf} AS print FROM ${names.id('sessions')} s WHERE ${hasKey}`
    : sql`SELECT NULL::uuid AS session_id, 0::bigint AS print WHERE false`
  const { rows } = await sql<{ isComplete: boolean }>`
    SELECT (SELECT ROW(${sums(sql`token_hash`)}) FROM ${own} WHERE id < ${firstDerived}) IS NOT DISTINCT FROM
        (SELECT ROW(${sums(sql`sha256(convert_to(token, 'UTF8'))`)}) FROM ${names.id('refresh_tokens')}
          WHERE token <> '' AND session_id IS NOT NULL)
      AND (SELECT ROW(${keys}) FROM ${sql.id(staging, KEYED)}) IS NOT DISTINCT FROM (SELECT ROW(${keys}) FROM (${keyed}) keyed)
      AND (SELECT count(*) FROM ${own} WHERE id >= ${firstDerived} AND NOT revoked) = (SELECT count(*) FROM ${sql.id(staging, KEYED)})
        AS "isComplete"`.execute(trx)
  return rows[0]?.isComplete === true
}

async function copySessions(trx: Kysely<unknown>, deps: StagingDeps, sessions: readonly string[]): Promise<void> {
  for (let start = 0; start < sessions.length; start += BATCH_SESSIONS) {
    const ids = sessions.slice(start, start + BATCH_SESSIONS)
    // A session that ends meanwhile takes its copy with it.
    await sql`
      SELECT FROM ${deps.places.names.id('sessions')} WHERE id = ANY (${ids}::uuid[]) FOR KEY SHARE`.execute(trx)
    await copyTokensOf(trx, deps, ids)
  }
}

/** Whether sessions have the columns from which tokens of the second form follow. An older version lacks them until the switch. */
async function haveKeys(trx: Kysely<unknown>, { names }: AdoptionPlaces): Promise<boolean> {
  return (await columnsOf(trx, names.schema, 'sessions')).has('refresh_token_hmac_key')
}

/** Copies the tokens of sessions. The old service goes on numbering its tokens, and the copies have the same numbers. */
async function copyTokensOf(
  trx: Kysely<unknown>,
  { places, encryptionKeys }: StagingDeps,
  ids: readonly string[],
): Promise<void> {
  const { names, staging } = places
  const [sessions, keyed] = [names.id('sessions'), sql.id(staging, KEYED)]
  const hasKeys = await haveKeys(trx, places)
  const copy: TokenCopy = {
    old: names.id('refresh_tokens'),
    own: sql.id(staging, 'refresh_tokens'),
    sessions,
    hasKeys,
    idOffset: 0n,
    encryptionKeys,
  }
  await sql`DELETE FROM ${keyed} WHERE session_id = ANY (${ids}::uuid[])`.execute(trx)
  // Before the tokens: a key that changes in between is then seen to differ.
  if (hasKeys)
    await sql`
      INSERT INTO ${keyed} SELECT s.id, ${printOf} FROM ${sessions} s
      WHERE s.id = ANY (${ids}::uuid[]) AND ${hasKey}`.execute(trx)
  await copyTokens(trx, copy, ids)
}
