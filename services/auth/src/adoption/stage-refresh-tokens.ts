import { createHash, createHmac } from 'node:crypto'
import { createRefreshTokens } from '@trestle/migrations/auth/0008-create-refresh-tokens.ts'
import { type Kysely, type RawBuilder, sql } from 'kysely'
import { NIL_UUID } from '../records/ids.ts'
import { type EncryptionKeys, readUpstreamSecret } from '../secrets/sealed-secret.ts'
import { hashRefreshToken } from '../sessions/refresh-token.ts'
import { type AdoptionPlaces, limitLockWait } from './adoption-record.ts'
import { hasRelation } from './catalog.ts'

const BATCH_SESSIONS = 5_000
/** The old service goes on numbering its tokens meanwhile. */
const ID_GAP = 1_000_000_000

const SIGNATURE_BYTES = 16
const CHECKSUM_BYTES = 4
const LOW_BITS = 0x7fn

/** What copies of refresh tokens work with. */
export interface StagingDeps {
  readonly places: AdoptionPlaces
  readonly encryptionKeys: EncryptionKeys
}

/**
 * Makes the table of refresh tokens beside that of supabase/auth, and triggers that note each session that changes from now on.
 * Does nothing where an earlier run has.
 */
export async function prepareStaging(db: Kysely<unknown>, { places }: StagingDeps): Promise<void> {
  const { names, staging } = places
  if (await hasRelation(db, staging, 'refresh_tokens')) return
  const id = (name: string) => (name.startsWith('refresh_tokens') ? sql.id(staging, name) : names.id(name))
  await db.transaction().execute(async (trx) => {
    await limitLockWait(trx)
    await createRefreshTokens({ ...names, id }).up(trx)
    await sql`
      SELECT setval(${`"${staging}".refresh_tokens_id_seq`}, coalesce(max(id), 0) + ${sql.lit(ID_GAP)})
      FROM ${names.id('refresh_tokens')}`.execute(trx)
    await sql`
      CREATE TABLE ${sql.id(staging, 'changes')} (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, session_id uuid)`.execute(
      trx,
    )
    await sql`CREATE TABLE ${sql.id(staging, 'progress')} (after uuid NOT NULL)`.execute(trx)
    await createTriggers(trx, places)
  })
}

/** The triggers have the rights of their owner: whatever changes a session is noted. */
async function createTriggers(trx: Kysely<unknown>, { names, staging }: AdoptionPlaces): Promise<void> {
  const watched = { refresh_tokens: 'session_id', sessions: 'id' } as const
  for (const [table, column] of Object.entries(watched)) {
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
  for (const table of ['refresh_tokens', 'sessions'])
    await sql`DROP TRIGGER IF EXISTS trestle_note_change ON ${names.id(table)}`.execute(trx)
}

/** Copies the refresh tokens of all sessions, some sessions at a time. A later run goes on where this one ended. */
export async function stageRefreshTokens(db: Kysely<unknown>, deps: StagingDeps): Promise<void> {
  while (
    await db.transaction().execute(async (trx) => {
      const ids = await nextSessions(trx, deps.places)
      await copyTokens(trx, deps, ids)
      return ids.length > 0
    })
  );
}

async function nextSessions(trx: Kysely<unknown>, { names, staging }: AdoptionPlaces): Promise<readonly string[]> {
  const progress = sql.id(staging, 'progress')
  const { rows } = await sql<{ id: string }>`
    SELECT id FROM ${names.id('sessions')}
    WHERE id > coalesce((SELECT after FROM ${progress}), ${NIL_UUID})
    ORDER BY id LIMIT ${sql.lit(BATCH_SESSIONS)} FOR KEY SHARE`.execute(trx)
  const last = rows.at(-1)
  if (last !== undefined) {
    await sql`DELETE FROM ${progress}`.execute(trx)
    await sql`INSERT INTO ${progress} VALUES (${last.id})`.execute(trx)
  }
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
  for (let start = 0; start < rows.length; start += BATCH_SESSIONS) {
    const ids = rows.slice(start, start + BATCH_SESSIONS).map(({ id }) => id)
    // A session that ends meanwhile takes its copy with it.
    const held = await sql<{ id: string }>`
      SELECT id FROM ${deps.places.names.id('sessions')} WHERE id = ANY (${ids}::uuid[]) FOR KEY SHARE`.execute(trx)
    await copyTokens(
      trx,
      deps,
      held.rows.map(({ id }) => id),
    )
  }
  return rows.length
}

/** Copies the tokens of both forms. The caller holds the sessions. */
async function copyTokens(trx: Kysely<unknown>, deps: StagingDeps, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  const { names, staging } = deps.places
  const [old, own, sessions] = [names.id('refresh_tokens'), sql.id(staging, 'refresh_tokens'), names.id('sessions')]
  await sql`DELETE FROM ${own} WHERE session_id = ANY (${ids}::uuid[])`.execute(trx)
  await sql`
    INSERT INTO ${own} (id, session_id, user_id, token_hash, counter, parent_id, revoked, created_at, updated_at)
    SELECT t.id, t.session_id, s.user_id, sha256(convert_to(t.token, 'UTF8')),
        row_number() OVER (PARTITION BY t.session_id ORDER BY t.id) - 1, p.id, coalesce(t.revoked, false),
        coalesce(t.created_at, s.created_at, 'epoch'), coalesce(t.updated_at, t.created_at, s.created_at, 'epoch')
      FROM ${old} t JOIN ${sessions} s ON s.id = t.session_id
      LEFT JOIN ${old} p ON p.token = t.parent AND p.session_id = t.session_id
      WHERE t.session_id = ANY (${ids}::uuid[]) AND t.token <> ''`.execute(trx)
  await insertDerived(trx, deps, await readUpstreamSessions(trx, { sessions, ids }))
}

interface KeyedSession {
  readonly id: string
  readonly hmacKey: string
  readonly counter: string
}

async function readUpstreamSessions(
  trx: Kysely<unknown>,
  { sessions, ids }: { readonly sessions: RawBuilder<unknown>; readonly ids: readonly string[] },
): Promise<readonly KeyedSession[]> {
  const { rows } = await sql<KeyedSession>`
    SELECT id, refresh_token_hmac_key AS "hmacKey", refresh_token_counter::text AS counter FROM ${sessions}
    WHERE id = ANY (${ids}::uuid[]) AND refresh_token_hmac_key IS NOT NULL AND refresh_token_counter IS NOT NULL`.execute(
    trx,
  )
  return rows
}

/** A token of the second form follows those of the first form that its session had before. */
async function insertDerived(
  trx: Kysely<unknown>,
  { places, encryptionKeys }: StagingDeps,
  sessions: readonly KeyedSession[],
): Promise<void> {
  const derived = sessions.flatMap(({ id, hmacKey, counter }) => {
    const tokens = deriveUpstreamTokens(encryptionKeys, { id, hmacKey, counter: BigInt(counter) })
    return tokens === undefined ? [] : [{ id, counter, tokens }]
  })
  if (derived.length === 0) return
  const hashOf = (token: string | undefined) => (token === undefined ? null : hashRefreshToken(token))
  const own = sql.id(places.staging, 'refresh_tokens')
  await sql`
    WITH item AS (
      SELECT d.*, s.user_id, coalesce(s.refreshed_at AT TIME ZONE 'UTC', s.created_at, 'epoch') AS moment,
          coalesce(before.counter, 0) + d.step + 1 AS counter, before.id AS before_id
        FROM unnest(${derived.map(({ id }) => id)}::uuid[], ${derived.map(({ counter }) => counter)}::bigint[],
          ${derived.map(({ tokens }) => hashOf(tokens.current))}::bytea[],
          ${derived.map(({ tokens }) => hashOf(tokens.parent))}::bytea[]) d (session_id, step, hash, parent_hash)
        JOIN ${places.names.id('sessions')} s ON s.id = d.session_id
        LEFT JOIN LATERAL (
          SELECT t.id, t.counter FROM ${own} t WHERE t.session_id = d.session_id ORDER BY t.counter DESC LIMIT 1) before ON true),
    parent AS (
      INSERT INTO ${own} (session_id, user_id, token_hash, counter, parent_id, revoked, created_at, updated_at)
      SELECT session_id, user_id, parent_hash, counter - 1, before_id, true, moment, moment FROM item
      WHERE parent_hash IS NOT NULL RETURNING id, session_id)
    INSERT INTO ${own} (session_id, user_id, token_hash, counter, parent_id, created_at, updated_at)
    SELECT i.session_id, i.user_id, i.hash, i.counter, coalesce(p.id, i.before_id), i.moment, i.moment
      FROM item i LEFT JOIN parent p ON p.session_id = i.session_id`.execute(trx)
}

/** The session of a refresh token of the second form, which supabase/auth stores nowhere: it follows from these values. */
interface UpstreamSession {
  readonly id: string
  /** `sessions.refresh_token_hmac_key`: base64url, or sealed. */
  readonly hmacKey: string
  readonly counter: bigint
}

/**
 * The refresh tokens of a session of the second form, by counter: the current one, and the one before, which a client that lost
 * an answer still has.
 * @returns undefined where the key of the session is sealed, and no key of the service opens it
 */
function deriveUpstreamTokens(
  keys: EncryptionKeys,
  { id, hmacKey, counter }: UpstreamSession,
): { readonly current: string; readonly parent: string | undefined } | undefined {
  const text = readUpstreamSecret(keys, id, hmacKey)
  if (text === undefined) return undefined
  const key = Buffer.from(text, 'base64url')
  return {
    current: encodeToken(key, id, counter),
    parent: counter > 0n ? encodeToken(key, id, counter - 1n) : undefined,
  }
}

/** Version 0, session, counter, signature and checksum. */
function encodeToken(key: Buffer, sessionId: string, counter: bigint): string {
  const session = Buffer.from(sessionId.replaceAll('-', ''), 'hex')
  const content = Buffer.concat([Buffer.of(0), session, toVarint(counter)])
  const signature = createHmac('sha256', key).update(content).digest().subarray(0, SIGNATURE_BYTES)
  const signed = Buffer.concat([content, signature])
  const checksum = createHash('sha256').update(signed).digest().subarray(0, CHECKSUM_BYTES)
  return Buffer.concat([signed, checksum]).toString('base64url')
}

/** Seven bits a byte, the lowest first; all bytes but the last have the highest bit. */
function toVarint(value: bigint): Buffer {
  const bytes: number[] = []
  let rest = value
  for (; rest > LOW_BITS; rest >>= 7n) bytes.push(Number(rest & LOW_BITS) | 0x80)
  return Buffer.from([...bytes, Number(rest)])
}
