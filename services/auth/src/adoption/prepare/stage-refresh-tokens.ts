import { inLatest } from '@trestle/database/migrations/migrator.ts'
import { type Kysely, type RawBuilder, sql } from 'kysely'
import { readColumns } from '../../schema/catalog.ts'
import type { EncryptionKeys } from '../../secrets/encrypted-secret.ts'
import type { AdoptionPlaces } from '../adoption-record.ts'
import {
  copyDerived,
  copyTokens,
  insertCopies,
  NEXT_COUNTER,
  pastTime,
  type TokenCopy,
} from '../copy/copy-refresh-tokens.ts'
import { KEYED } from './staging-tables.ts'

/** A compromise. A small batch is read quickly, and a large batch needs few round trips to the database. */
const BATCH_SESSIONS = 300
/** A session with a key, readable or not. `printOf` is a hash that changes with the key or the counter. */
const hasKey = sql`s.refresh_token_hmac_key IS NOT NULL AND s.refresh_token_counter IS NOT NULL`
const printOf = sql`hashtextextended(s.refresh_token_hmac_key, s.refresh_token_counter)`
export interface StagingDeps {
  readonly places: AdoptionPlaces
  readonly encryptionKeys: EncryptionKeys
}

/**
 * Copies the refresh tokens of all sessions in batches. A later run continues where this run ended, copies the sessions again
 * that have changed since, and corrects wrong copies. Locks no row of the old service. A session that changes during its copy is
 * noted, so the next replay copies it again.
 */
export async function stageRefreshTokens(db: Kysely<unknown>, deps: StagingDeps): Promise<void> {
  while (await inLatest(db).execute((trx) => copyNextSessions(trx, deps)));
  await inLatest(db).execute((trx) => replayChanges(trx, deps))
  await inLatest(db).execute((trx) => correctCopies(trx, deps))
}

/** @returns `true` if there were sessions to copy */
async function copyNextSessions(trx: Kysely<unknown>, deps: StagingDeps): Promise<boolean> {
  const { names, staging } = deps.places
  const progress = sql.id(staging, 'progress')
  const { rows: before } = await sql<{ after: string | null }>`SELECT after FROM ${progress}`.execute(trx)
  const after = before[0]?.after ?? null
  const { rows } = await sql<{ id: string }>`
    SELECT id FROM ${names.id('sessions')} ${after === null ? sql`` : sql`WHERE id > ${after}`}
    ORDER BY id LIMIT ${sql.lit(BATCH_SESSIONS)}`.execute(trx)
  const last = rows.at(-1)
  if (last === undefined) return false
  await copySessions(
    trx,
    deps,
    rows.map(({ id }) => id),
  )
  await sql`UPDATE ${progress} SET after = ${last.id}`.execute(trx)
  return true
}

/** Counts the notes of changed sessions that are not copied again yet. */
export async function countChanges(db: Kysely<unknown>, { staging }: AdoptionPlaces): Promise<number> {
  const { rows } = await sql<{ count: string }>`SELECT count(*) AS count FROM ${sql.id(staging, 'changes')}`.execute(db)
  return Number(rows[0]?.count ?? 0)
}

/**
 * Copies sessions again that have changed since their copy, and deletes the copies of deleted sessions.
 * @returns the number of changed sessions
 */
export async function replayChanges(trx: Kysely<unknown>, deps: StagingDeps): Promise<number> {
  const { rows } = await sql<{ id: string }>`
    WITH noted AS (DELETE FROM ${sql.id(deps.places.staging, 'changes')} RETURNING session_id)
    SELECT DISTINCT session_id AS id FROM noted WHERE session_id IS NOT NULL`.execute(trx)
  await copySessions(
    trx,
    deps,
    rows.map(({ id }) => id),
  )
  return rows.length
}

/**
 * Copies sessions again whose copies differ from the tokens of the old service. Row triggers miss such changes: they do not fire
 * on TRUNCATE, or on writes under `session_replication_role = replica`. A token that was revoked by such a write must not work
 * again. An earlier run without the encryption key also skipped the sessions that need it. Tokens derived from the key of their
 * session have numbers from `first_derived`. All other tokens have the numbers of the old service.
 * @returns `true` if every session with a key has a token derived from the key, `false` if that is not known
 */
export async function correctCopies(trx: Kysely<unknown>, deps: StagingDeps): Promise<boolean> {
  if (await areComplete(trx, deps.places)) return true
  const { names, staging } = deps.places
  const [own, old, sessions] = [sql.id(staging, 'refresh_tokens'), names.id('refresh_tokens'), names.id('sessions')]
  const firstDerived = firstDerivedOf(deps.places)
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
 * Compares the copies with the tokens of the old service by sums over both tables. A join over a million tokens takes seconds, in
 * which requests wait, and a sum takes a fraction of that time. A token without a session makes the sums differ, but the later
 * joins copy nothing then. The values of revoked tokens are not compared, because they continue no session.
 */
async function areComplete(trx: Kysely<unknown>, places: AdoptionPlaces): Promise<boolean> {
  const { names, staging } = places
  const own = sql.id(staging, 'refresh_tokens')
  const firstDerived = firstDerivedOf(places)
  const sums = (hash: RawBuilder<unknown>) => sql`
    count(*), sum(uuid_hash_extended(session_id, id * 2 + CASE WHEN coalesce(revoked, false) THEN 1 ELSE 0 END)),
    sum(hashtextextended(encode(${hash}, 'hex'), id)) FILTER (WHERE revoked IS NOT TRUE)`
  const keys = sql`count(*), sum(uuid_hash_extended(session_id, print))`
  // Each session with a key has exactly one derived token that is not revoked.
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

/** Returns the first number of tokens that are derived from the keys of sessions. */
function firstDerivedOf({ staging }: AdoptionPlaces): RawBuilder<unknown> {
  return sql`(SELECT first_derived FROM ${sql.id(staging, 'progress')})`
}

/** Copies the tokens of changed sessions. The copies keep the numbers of the old service. */
async function copySessions(
  trx: Kysely<unknown>,
  { places, encryptionKeys }: StagingDeps,
  sessions: readonly string[],
): Promise<void> {
  const { names, staging } = places
  const copy: TokenCopy & { readonly firstDerived: RawBuilder<unknown> } = {
    old: names.id('refresh_tokens'),
    own: sql.id(staging, 'refresh_tokens'),
    sessions: names.id('sessions'),
    hasKeys: await haveKeys(trx, places),
    idOffset: 0n,
    firstDerived: firstDerivedOf(places),
    encryptionKeys,
  }
  for (let start = 0; start < sessions.length; start += BATCH_SESSIONS) {
    const ids = sessions.slice(start, start + BATCH_SESSIONS)
    // Copy the key prints before the tokens. If a key changes in between, the next comparison detects the difference.
    await copyKeyPrints(trx, { places, hasKeys: copy.hasKeys, ids })
    await updateCopies(trx, copy, ids)
  }
}

/** Whether sessions have the columns of derived tokens. Older versions lack the columns until the switch. */
async function haveKeys(trx: Kysely<unknown>, { names }: AdoptionPlaces): Promise<boolean> {
  return (await readColumns(trx, names.schema, 'sessions')).has('refresh_token_hmac_key')
}

async function copyKeyPrints(
  trx: Kysely<unknown>,
  {
    places: { names, staging },
    hasKeys,
    ids,
  }: { readonly places: AdoptionPlaces; readonly hasKeys: boolean; readonly ids: readonly string[] },
): Promise<void> {
  const keyed = sql.id(staging, KEYED)
  await sql`DELETE FROM ${keyed} WHERE session_id = ANY (${ids}::uuid[])`.execute(trx)
  if (hasKeys)
    await sql`
      INSERT INTO ${keyed} SELECT s.id, ${printOf} FROM ${names.id('sessions')} s
      WHERE s.id = ANY (${ids}::uuid[]) AND ${hasKey}`.execute(trx)
}

/** The differences between the tokens of a session and their copies. */
interface Difference {
  readonly id: string
  /** Whether all tokens of the session must be copied again. */
  readonly isWhole: boolean
  /** The numbers of copied tokens that have been revoked since. */
  readonly spent: readonly string[]
  /** The numbers of new tokens. */
  readonly added: readonly string[]
}

/**
 * Updates the copies of the refresh tokens of sessions. A session may have a million tokens and may still be refreshed. Copying
 * all of them takes many seconds, during which requests wait for the switch. So only the effects of a refresh are copied: revoked
 * tokens and new tokens. If anything else has changed, all tokens of the session are copied again.
 * @param firstDerived the first number of tokens that are derived from the keys of sessions
 * @param ids at most a few hundred, because each is looked up separately
 */
async function updateCopies(
  trx: Kysely<unknown>,
  copy: TokenCopy & { readonly firstDerived: RawBuilder<unknown> },
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return
  const differences = await findDifferences(trx, copy, ids)
  const whole = differences.filter(({ isWhole }) => isWhole)
  const kept = differences.filter(({ isWhole }) => !isWhole)
  await copyTokens(
    trx,
    copy,
    whole.map(({ id }) => id),
  )
  if (kept.length === 0) return
  const { old, own, sessions, firstDerived } = copy
  const goOn = kept.map(({ id }) => id)
  const numbers = (of: 'spent' | 'added') => sql`${kept.flatMap((each) => each[of])}::bigint[]`
  // An application may have moved a token by SQL from another session. The copy of that session then has the same number.
  await sql`
    DELETE FROM ${own} WHERE id = ANY (${numbers('added')}) OR id = ANY (ARRAY (
      SELECT t.id FROM unnest(${goOn}::uuid[]) i (id)
      CROSS JOIN LATERAL (SELECT o.id FROM ${own} o WHERE o.session_id = i.id ORDER BY o.counter DESC LIMIT 2) t
      WHERE t.id >= ${firstDerived}))`.execute(trx)
  await sql`
    UPDATE ${own} c SET revoked = true,
      updated_at = (SELECT ${pastTime(sql`coalesce(o.updated_at, c.created_at)`)} FROM ${old} o WHERE o.id = c.id)
    WHERE c.id = ANY (${numbers('spent')})`.execute(trx)
  await insertCopies(
    trx,
    { ...copy, start: sql`n.counter` },
    sql`
      unnest(${numbers('added')}) i (id)
      CROSS JOIN LATERAL (SELECT * FROM ${old} o WHERE o.id = i.id OFFSET 0) t
      CROSS JOIN LATERAL (SELECT * FROM ${sessions} o WHERE o.id = t.session_id OFFSET 0) s
      CROSS JOIN LATERAL (
        SELECT ${NEXT_COUNTER} AS counter FROM ${own} o WHERE o.session_id = t.session_id ORDER BY o.counter DESC LIMIT 1) n
      LEFT JOIN LATERAL (SELECT o.id FROM ${old} o WHERE o.token = t.parent AND o.session_id = t.session_id OFFSET 0) p ON true`,
  )
  await copyDerived(trx, copy, goOn)
}

/**
 * Compares the tokens of sessions with their copies, without the values of revoked tokens, which continue no session. A new token
 * with a lower number than a copy was committed later. The session is copied again then, because of the order of the chain.
 */
async function findDifferences(
  trx: Kysely<unknown>,
  { old, own, sessions, firstDerived }: Parameters<typeof updateCopies>[1],
  ids: readonly string[],
): Promise<readonly Difference[]> {
  const { rows } = await sql<Difference>`
    SELECT i.id, s.id IS NULL OR d."isWhole" AS "isWhole", d.spent, d.added FROM unnest(${ids}::uuid[]) i (id)
    LEFT JOIN LATERAL (SELECT o.id, o.user_id FROM ${sessions} o WHERE o.id = i.id OFFSET 0) s ON true
    CROSS JOIN LATERAL (
      SELECT count(c.id) = 0 OR coalesce(min(t.id) FILTER (WHERE c.id IS NULL) < max(c.id), false)
          OR coalesce(bool_or(t.id IS NULL OR c.user_id <> s.user_id OR NOT t.revoked AND (
            c.revoked OR c.token_hash <> sha256(convert_to(t.token, 'UTF8')))) FILTER (WHERE c.id IS NOT NULL), false) AS "isWhole",
        coalesce(array_agg(c.id) FILTER (WHERE t.revoked AND NOT c.revoked), '{}') AS spent,
        coalesce(array_agg(t.id) FILTER (WHERE c.id IS NULL), '{}') AS added
      FROM (
        SELECT o.id, o.token, coalesce(o.revoked, false) AS revoked FROM ${old} o
        WHERE o.session_id = i.id AND o.token <> '' OFFSET 0) t
      FULL JOIN (
        SELECT o.id, o.user_id, o.revoked, o.token_hash FROM ${own} o
        WHERE o.session_id = i.id AND o.id < ${firstDerived} OFFSET 0) c ON c.id = t.id) d`.execute(trx)
  return rows
}
