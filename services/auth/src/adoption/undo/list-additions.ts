import { listOverloads } from '@trestle/database/migrations/installed-functions.ts'
import { inLatest } from '@trestle/database/migrations/migrator.ts'
import { readCatalogue } from '@trestle/database/rehearsal/catalogue.ts'
import { rehearseExecuted } from '@trestle/database/rehearsal/drift.ts'
import { authFunctions, authMigrations } from '@trestle/migrations/auth.ts'
import { type Kysely, sql } from 'kysely'
import { ownTables, REFUSING_TRIGGER } from '../../schema/own-objects.ts'
import type { AdoptionPlaces } from '../adoption-record.ts'

/** The objects of others that are dropped with a table. */
const ON_TABLE = /^(trigger|policy|rule|column|constraint|statistics) ([^.]+)\.(.+)$/
/** A comment on a table, or on one of its columns. */
const COMMENT = /^comment ([^.]+)(?:\.(.+))?$/
/** The view that this service has made. */
const OWN_VIEW = 'user_factors'
/** An index has its table in its definition alone: `CREATE INDEX seen ON auth.outbox USING btree (id)`. */
const INDEX = /^index (.+)$/
const INDEX_TABLE = / ON (?:ONLY )?\w+\.(\w+) USING /

/**
 * Lists what others have added since the switch to the tables of this service, which `adopt --undo` drops: triggers, policies,
 * rules, indexes, columns, constraints, statistics, defaults, comments, rights and places in publications, and functions with the
 * names of its own. They would go with the tables in silence. The tables that stay keep theirs.
 * @returns each in a line, such as `policy mine of table refresh_tokens`
 */
export async function listAdditions(db: Kysely<unknown>, places: AdoptionPlaces): Promise<readonly string[]> {
  const { names } = places
  const made = await rehearseExecuted(db, { names, sources: authMigrations })
  const found = await inLatest(db).execute((trx) => readCatalogue(trx, names))
  const added = [...found].flatMap(([object, definition]) => {
    const [, kind, table = '', name] = ON_TABLE.exec(object) ?? indexOf(object, definition)
    const isOwnTable = ownTables.includes(table) && name !== REFUSING_TRIGGER
    if (isOwnTable && !made.has(object)) return [`${kind} ${name} of table ${table}`]
    // Somebody has changed a column of this service, such as its default.
    if (isOwnTable && kind === 'column' && made.get(object) !== definition)
      return [`changed column ${name} of table ${table}`]
    const [, commented = '', column] = COMMENT.exec(object) ?? []
    const isComment = [...ownTables, OWN_VIEW].includes(commented) && made.get(object) !== definition
    return isComment ? [`comment on ${column === undefined ? 'table' : `column ${column} of table`} ${commented}`] : []
  })
  const overloads = await listOverloads(db, names, authFunctions)
  return [...added, ...(await listRights(db, places)), ...(await listPublished(db, places)), ...overloads].sort()
}

/** The publications that somebody has added a table of this service to. */
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
 * Rights on these tables, on their columns and on the view that neither the table of supabase/auth with the
 * same name has, nor default privileges have given.
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
