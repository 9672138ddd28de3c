import { listOverloads } from '@trestle/database/migrations/installed-functions.ts'
import { inLatest } from '@trestle/database/migrations/migrator.ts'
import { readCatalogue, rehearseExecuted } from '@trestle/database/rehearsal/drift.ts'
import { authFunctions, authMigrations } from '@trestle/migrations/auth.ts'
import { type Kysely, type RawBuilder, sql } from 'kysely'
import { dropSchema, hasRelation } from '../../schema/catalog.ts'
import { ownTables, REFUSING_TRIGGER } from '../../schema/own-objects.ts'
import type { EncryptionKeys } from '../../secrets/encrypted-secret.ts'
import { type AdoptionPlaces, type AdoptionRecord, COPIED_CODES } from '../adoption-record.ts'
import { listTypeNeeds, PHONE_FACTORS } from '../changes/identity-key.ts'
import { ownChanges } from '../changes/upstream-changes.ts'
import { READER } from '../copy/copy-audit-log.ts'
import { COPIED_FLOWS, COPIED_PROVIDERS, UNCOPIED_SESSIONS } from '../copy/copy-live-rows.ts'
import { BEGUN_SESSIONS } from '../copy/copy-refresh-tokens.ts'
import { countRows, findVersion, SERVED, UNSERVED } from '../upstream-tables.ts'
import { countEndedSessions, countForeignHashes, listSpoiltCredentials, type SessionCounts } from './give-back-rows.ts'
import {
  countUnfitFactors,
  listSpoiltFactors,
  listUnfitForUpstream,
  NO_UNFIT_FACTORS,
  type UnfitFactors,
} from './give-back-secrets.ts'

/** The tables that an adoption creates in the schema with the moved tables of supabase/auth. */
const RECORD_TABLES = [
  'adoption',
  COPIED_CODES,
  COPIED_FLOWS,
  COPIED_PROVIDERS,
  UNCOPIED_SESSIONS,
  BEGUN_SESSIONS,
] as const

/**
 * Drops the record of an adoption with its schema and the tables of supabase/auth in it, like `dropSchema`.
 * @param replaced the tables of supabase/auth
 * @throws DatabaseError (2BP01) if another object is in the schema, or depends on it
 */
export async function dropKept(
  trx: Kysely<unknown>,
  { kept }: Pick<AdoptionPlaces, 'kept'>,
  replaced: readonly string[],
): Promise<void> {
  await dropSchema(trx, kept, { tables: [...replaced, ...RECORD_TABLES], functions: [`${READER}(text)`] })
}

/** Counts the rows of each moved table of supabase/auth, by qualified name. */
export async function countKept(
  db: Kysely<unknown>,
  { names, kept }: AdoptionPlaces,
  replaced: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const counts = await countRows(db, { names: { ...names, schema: kept, id: (name) => sql.id(kept, name) } }, replaced)
  return new Map([...counts].map(([table, count]) => [`${kept}.${table}`, count]))
}

/**
 * Drops the moved tables of supabase/auth, like `dropKept`. Foreign keys of the tables that stay are dropped with the tables that
 * they refer to.
 * @throws DatabaseError (2BP01)
 */
export async function dropKeptTables(
  trx: Kysely<unknown>,
  places: AdoptionPlaces,
  replaced: readonly string[],
): Promise<void> {
  const { names, kept } = places
  const { rows: keys } = await sql<{ table: string; name: string }>`
    SELECT c.relname AS "table", k.conname AS name
    FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_class o ON o.oid = k.confrelid
    WHERE k.contype = 'f' AND o.relnamespace = to_regnamespace(format('%I', ${kept}::text))
      AND c.relnamespace = to_regnamespace(format('%I', ${names.schema}::text))
      AND c.relname = ANY (${[...SERVED, ...UNSERVED]}::text[])`.execute(trx)
  for (const { table, name } of keys)
    await sql`ALTER TABLE ${names.id(table)} DROP CONSTRAINT ${sql.id(name)}`.execute(trx)
  await dropKept(trx, places, replaced)
}

/** Drops the extension pgcrypto, unless functions of applications now depend on it. */
export async function dropPgcrypto(trx: Kysely<unknown>): Promise<void> {
  await sql`
    DO $$ BEGIN DROP EXTENSION IF EXISTS pgcrypto; EXCEPTION WHEN dependent_objects_still_exist THEN END $$`.execute(
    trx,
  )
}

/** Objects of other programs that are dropped with a table. */
const ON_TABLE = /^(trigger|policy|rule|column|constraint|statistics) ([^.]+)\.(.+)$/
/** A comment on a table, or on one of its columns. */
const COMMENT = /^comment ([^.]+)(?:\.(.+))?$/
/** The view of this service. */
const OWN_VIEW = 'user_factors'
/** The table of an index appears only in the definition: `CREATE INDEX seen ON auth.outbox USING btree (id)`. */
const INDEX = /^index (.+)$/
const INDEX_TABLE = / ON (?:ONLY )?\w+\.(\w+) USING /

/**
 * Lists what other programs have added to the tables of this service since the switch. `adopt --undo` would drop these additions
 * with the tables and without notice. They are triggers, policies, rules, indexes, columns, constraints, statistics, defaults,
 * comments, rights, publications, and functions with names of this service. Additions to tables that stay are not affected.
 * @returns a line for each, such as `policy mine of table refresh_tokens`
 */
export async function listAdditions(db: Kysely<unknown>, places: AdoptionPlaces): Promise<readonly string[]> {
  const { names } = places
  const made = await rehearseExecuted(db, { names, sources: authMigrations })
  const found = await inLatest(db).execute((trx) => readCatalogue(trx, names))
  const added = [...found].flatMap(([object, definition]) => {
    const [, kind, table = '', name] = ON_TABLE.exec(object) ?? indexOf(object, definition)
    const isOwnTable = ownTables.includes(table) && name !== REFUSING_TRIGGER
    if (isOwnTable && !made.has(object)) return [`${kind} ${name} of table ${table}`]
    // An application has changed a column of this service, for example its default.
    if (isOwnTable && kind === 'column' && made.get(object) !== definition)
      return [`changed column ${name} of table ${table}`]
    const [, commented = '', column] = COMMENT.exec(object) ?? []
    const isComment = [...ownTables, OWN_VIEW].includes(commented) && made.get(object) !== definition
    return isComment ? [`comment on ${column === undefined ? 'table' : `column ${column} of table`} ${commented}`] : []
  })
  const overloads = await listOverloads(db, names, authFunctions)
  return [...added, ...(await listRights(db, places)), ...(await listPublished(db, places)), ...overloads].sort()
}

/** Returns the publications to which a table of this service was added. */
async function listPublished(db: Kysely<unknown>, { names }: AdoptionPlaces): Promise<readonly string[]> {
  const { rows } = await sql<{ name: string }>`
    SELECT format('place in publication %I of table %s', p.pubname, c.relname) AS name
    FROM pg_publication_rel r JOIN pg_publication p ON p.oid = r.prpubid JOIN pg_class c ON c.oid = r.prrelid
    WHERE c.relnamespace = to_regnamespace(format('%I', ${names.schema}::text)) AND c.relname = ANY (${[...ownTables]}::text[])`.execute(
    db,
  )
  return rows.map(({ name }) => name)
}

function indexOf(object: string, definition: string): readonly (string | undefined)[] {
  const index = INDEX.exec(object)?.[1]
  return index === undefined ? [] : [object, 'index', INDEX_TABLE.exec(definition)?.[1], index]
}

/**
 * Returns rights on these tables, their columns and the view that come neither from the table of supabase/auth with the same name
 * nor from default privileges.
 */
async function listRights(db: Kysely<unknown>, { names, kept }: AdoptionPlaces): Promise<readonly string[]> {
  const { rows } = await sql<{ right: string }>`
    SELECT DISTINCT format('right %s%s of %s on table %s', a.privilege_type, ' (' || g.attname || ')',
        CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE pg_get_userbyid(a.grantee)::text END, c.relname) AS "right"
      FROM pg_class c CROSS JOIN LATERAL (
        SELECT NULL AS attname, c.relacl AS acl
        UNION ALL SELECT attname, attacl FROM pg_attribute WHERE attrelid = c.oid AND NOT attisdropped) g
      CROSS JOIN aclexplode(g.acl) a
      WHERE c.relnamespace = to_regnamespace(format('%I', ${names.schema}::text)) AND c.relkind IN ('r', 'p', 'v')
        AND c.relname = ANY (${[...ownTables, OWN_VIEW]}::text[]) AND a.grantee <> c.relowner
        AND NOT EXISTS (
          SELECT FROM pg_class o LEFT JOIN pg_attribute oa ON oa.attrelid = o.oid AND oa.attname = g.attname
          CROSS JOIN aclexplode(CASE WHEN g.attname IS NULL THEN o.relacl ELSE oa.attacl END) b
          WHERE o.relnamespace = to_regnamespace(format('%I', ${kept}::text)) AND o.relname = c.relname
            AND b.grantee = a.grantee AND b.privilege_type = a.privilege_type)
        AND NOT EXISTS (
          SELECT FROM pg_default_acl p CROSS JOIN aclexplode(p.defaclacl) b
          WHERE p.defaclrole = c.relowner AND p.defaclobjtype = 'r' AND p.defaclnamespace IN (0, c.relnamespace)
            AND b.grantee = a.grantee AND b.privilege_type = a.privilege_type)`.execute(db)
  return rows.map(({ right }) => right)
}

/** The losses of users through `adopt --undo`, for the operator who decides. */
export interface UndoCosts {
  /** Whether this service has taken over. Before, an undo costs users nothing. */
  readonly hasSwitched: boolean
  /** The numbers of all sessions and of those that end. */
  readonly sessions: SessionCounts
  /** The number of users whose password hash has a format that supabase/auth cannot read. */
  readonly passwords: number
  /** The identifiers of custom providers that supabase/auth cannot store. */
  readonly providers: readonly string[]
  /** Second factors that this version of supabase/auth cannot have. They are removed. */
  readonly factors: UnfitFactors
  /** The number of passkeys, if this version of supabase/auth has none. */
  readonly passkeys: number
  /** The number of users with recovery codes, which no version of supabase/auth accepts. */
  readonly recoveryCodes: number
  /** Passkeys and second factors that other programs have damaged by SQL, by table and id (see `listSpoiltCredentials`). */
  readonly spoilt: readonly string[]
  /** The number of users who are operators of the console. */
  readonly operators: number
  /** The reasons why the type of factors keeps the added value for phones. Empty if the value is removed. */
  readonly phoneValueKeptBy: readonly string[]
}

/** Counts the rows that an undo loses. Before the switch, users lose nothing. */
export async function findUndoCosts(
  db: Kysely<unknown>,
  places: AdoptionPlaces,
  { switchedAt, version, changes }: Pick<AdoptionRecord, 'switchedAt' | 'version' | 'changes'>,
  keys: EncryptionKeys,
): Promise<UndoCosts> {
  const { names, kept } = places
  const made = ownChanges(changes, places, { since: version, version: await findVersion(db, names) })
  const phoneValueKeptBy = made.includes(PHONE_FACTORS) ? await listTypeNeeds(db, names) : []
  if (switchedAt === null) return { ...NO_COSTS, phoneValueKeptBy }
  return {
    hasSwitched: true,
    sessions: await countEndedSessions(db, places),
    passwords: await countForeignHashes(db, places),
    providers: await listUnfitForUpstream(db, places, keys),
    factors: await countUnfitFactors(db, { places, version }),
    passkeys: (await hasRelation(db, kept, 'webauthn_credentials'))
      ? 0
      : await count(db, sql`${names.id('webauthn_credentials')}`),
    recoveryCodes: await count(db, sql`${names.id('mfa_recovery_sets')}`),
    spoilt: [...(await listSpoiltCredentials(db, places)), ...(await listSpoiltFactors(db, places, keys))],
    operators: await count(db, sql`${names.id('users')} WHERE console_role IS NOT NULL`),
    phoneValueKeptBy,
  }
}

const NO_COSTS: Omit<UndoCosts, 'phoneValueKeptBy'> = {
  hasSwitched: false,
  sessions: { ended: 0, all: 0 },
  passwords: 0,
  providers: [],
  factors: NO_UNFIT_FACTORS,
  passkeys: 0,
  recoveryCodes: 0,
  spoilt: [],
  operators: 0,
}

async function count(db: Kysely<unknown>, rows: RawBuilder<unknown>): Promise<number> {
  const { rows: counts } = await sql<{ count: number }>`SELECT count(*)::int AS count FROM ${rows}`.execute(db)
  return counts[0]?.count ?? 0
}
