import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, type QueryExecutorProvider, type RawBuilder, sql } from 'kysely'

/** The primary key of `identities` in every version: `(provider, id)` before 2.117, and `id` since then. */
const PRIMARY = 'identities_pkey'
/** The unique key that has the columns of the old primary key since 2.117. */
const BY_SUBJECT = 'identities_provider_id_provider_unique'

/** Properties of a key and its index that an operator may have set. */
interface KeyTraits {
  /** Whether subscribers of publications identify changed rows by this key. */
  readonly isReplicaIdentity: boolean
  readonly isClustered: boolean
  /** Storage parameters, such as `fillfactor=70`. */
  readonly options: readonly string[] | null
  readonly comment: string | null
  readonly indexComment: string | null
}

const PLAIN: KeyTraits = {
  isReplicaIdentity: false,
  isClustered: false,
  options: null,
  comment: null,
  indexComment: null,
}

/**
 * Gives `identities` the keys of 2.117. The settings that the operator made for the old key move to the key with the same
 * columns. Without a replica identity, PostgreSQL rejects changes of published rows.
 */
export async function replaceKey(trx: Kysely<unknown>, schema: string): Promise<void> {
  const table = sql.id(schema, 'identities')
  const traits = await readTraits(trx, schema, PRIMARY)
  await sql`ALTER TABLE ${table} RENAME COLUMN id TO provider_id`.execute(trx)
  await sql`ALTER TABLE ${table} DROP CONSTRAINT identities_pkey`.execute(trx)
  await sql`ALTER TABLE ${table} ADD COLUMN id uuid NOT NULL DEFAULT gen_random_uuid()`.execute(trx)
  await sql`ALTER TABLE ${table} ADD CONSTRAINT identities_pkey PRIMARY KEY (id)`.execute(trx)
  await addKey(trx, schema, { name: BY_SUBJECT, definition: sql`UNIQUE (provider_id, provider)`, traits })
}

/** Reverts `replaceKey`. */
export async function restoreKey(trx: Kysely<unknown>, schema: string): Promise<void> {
  const table = sql.id(schema, 'identities')
  const traits = await readTraits(trx, schema, BY_SUBJECT)
  const { isReplicaIdentity } = await readTraits(trx, schema, PRIMARY)
  await sql`ALTER TABLE ${table} DROP CONSTRAINT ${sql.id(BY_SUBJECT)}, DROP COLUMN id`.execute(trx)
  await sql`ALTER TABLE ${table} RENAME COLUMN provider_id TO id`.execute(trx)
  await addKey(trx, schema, {
    name: PRIMARY,
    definition: sql`PRIMARY KEY (provider, id)`,
    traits: { ...traits, isReplicaIdentity: isReplicaIdentity || traits.isReplicaIdentity },
  })
}

/**
 * Returns SQL for whether every publication contains the columns that identify rows. A publication with a column list or a row
 * filter uses the columns of the old key. If the operator has chosen no replica identity, PostgreSQL would use the new key `id`.
 */
export function fitsPublications(schema: string): RawBuilder<boolean> {
  const names = (column: RawBuilder<unknown>) => sql`EXISTS (
    SELECT FROM pg_depend d JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
    WHERE d.classid = 'pg_publication_rel'::regclass AND d.objid = r.oid AND d.refobjid = t.oid AND ${column})`
  return sql`NOT EXISTS (
    SELECT FROM pg_class t JOIN pg_publication_rel r ON r.prrelid = t.oid JOIN pg_publication p ON p.oid = r.prpubid
    WHERE t.oid = to_regclass(format('%I.identities', ${schema}::text)) AND t.relreplident = 'd' AND (p.pubupdate OR p.pubdelete)
      AND ${names(sql`a.attname IN ('provider', 'provider_id')`)} AND NOT ${names(sql`a.attname = 'id'`)})`
}

/** Makes subscribers identify rows by the columns of the old key. */
export function replicateBySubject(schema: string): RawBuilder<unknown> {
  return sql`ALTER TABLE ${sql.id(schema, 'identities')} REPLICA IDENTITY USING INDEX ${sql.id(BY_SUBJECT)}`
}

/** Reverts `replicateBySubject`. */
export function replicateByKey(schema: string): RawBuilder<unknown> {
  return sql`ALTER TABLE ${sql.id(schema, 'identities')} REPLICA IDENTITY DEFAULT`
}

async function readTraits(trx: Kysely<unknown>, schema: string, key: string): Promise<KeyTraits> {
  const { rows } = await sql<KeyTraits>`
    SELECT i.indisreplident AS "isReplicaIdentity", i.indisclustered AS "isClustered", c.reloptions AS options,
      obj_description(k.oid, 'pg_constraint') AS comment, obj_description(c.oid, 'pg_class') AS "indexComment"
    FROM pg_constraint k JOIN pg_index i ON i.indexrelid = k.conindid JOIN pg_class c ON c.oid = k.conindid
    WHERE k.conrelid = to_regclass(format('%I.identities', ${schema}::text)) AND k.conname = ${key}`.execute(trx)
  return rows[0] ?? PLAIN
}

interface NewKey {
  readonly name: string
  readonly definition: RawBuilder<unknown>
  readonly traits: KeyTraits
}

async function addKey(trx: Kysely<unknown>, schema: string, { name, definition, traits }: NewKey): Promise<void> {
  const table = sql.id(schema, 'identities')
  const options = (traits.options ?? []).map((option) => {
    const [parameter = '', value] = option.split('=')
    return sql`${sql.id(parameter)} = ${sql.lit(value)}`
  })
  const storage = options.length > 0 ? sql`WITH (${sql.join(options)})` : sql``
  await sql`ALTER TABLE ${table} ADD CONSTRAINT ${sql.id(name)} ${definition} ${storage}`.execute(trx)
  if (traits.isReplicaIdentity)
    await sql`ALTER TABLE ${table} REPLICA IDENTITY USING INDEX ${sql.id(name)}`.execute(trx)
  if (traits.isClustered) await sql`ALTER TABLE ${table} CLUSTER ON ${sql.id(name)}`.execute(trx)
  if (traits.comment !== null)
    await sql`COMMENT ON CONSTRAINT ${sql.id(name)} ON ${table} IS ${sql.lit(traits.comment)}`.execute(trx)
  if (traits.indexComment !== null)
    await sql`COMMENT ON INDEX ${sql.id(schema, name)} IS ${sql.lit(traits.indexComment)}`.execute(trx)
}

/** The name of the change that allows phones as factors. It adds the value `phone` to the type of factors. */
export const PHONE_FACTORS = 'factor_type.phone'
const VALUES = ['totp', 'webauthn', 'phone'] as const

type Place = Pick<Names, 'schema'>

export function hasPhoneValue({ schema }: Place): RawBuilder<boolean> {
  return sql<boolean>`EXISTS (
    SELECT FROM pg_enum WHERE enumtypid = to_regtype(format('%I.factor_type', ${schema}::text)) AND enumlabel = 'phone')`
}

export function addPhoneValue({ schema }: Place): RawBuilder<unknown> {
  return sql`ALTER TYPE ${sql.id(schema, 'factor_type')} ADD VALUE 'phone'`
}

/**
 * Deletes the factors that are phones, and reverts `addPhoneValue`. PostgreSQL cannot remove a value from a type, so the type is
 * created again. If another object needs the existing type, the value stays.
 */
export async function removePhoneValue(trx: Kysely<unknown>, place: Place): Promise<void> {
  const { schema } = place
  const type = sql.id(schema, 'factor_type')
  const factors = sql.id(schema, 'mfa_factors')
  await sql`DELETE FROM ${factors} WHERE factor_type::text = 'phone'`.execute(trx)
  if ((await listTypeNeeds(trx, place)).length > 0) return
  await sql`ALTER TYPE ${type} RENAME TO factor_type_adopted`.execute(trx)
  await sql`CREATE TYPE ${type} AS ENUM ('totp', 'webauthn')`.execute(trx)
  await sql`ALTER TABLE ${factors} ALTER COLUMN factor_type TYPE ${type} USING factor_type::text::${type}`.execute(trx)
  await sql`DROP TYPE ${sql.id(schema, 'factor_type_adopted')}`.execute(trx)
}

/**
 * Lists what prevents a new type of factors: views, policies, partial indexes and checks that use the type, and properties that a
 * new type would lack. The view of this service is dropped before the type, so it is not listed.
 */
export async function listTypeNeeds(db: QueryExecutorProvider, { schema }: Place): Promise<readonly string[]> {
  const { rows } = await sql<{ need: string }>`
    WITH type AS (SELECT * FROM pg_type WHERE oid = to_regtype(format('%I.factor_type', ${schema}::text))),
    kept AS (
      SELECT 'pg_class'::regclass AS class, attrelid AS oid, attnum AS part FROM pg_attribute
      WHERE attrelid = to_regclass(format('%I.mfa_factors', ${schema}::text)) AND attname = 'factor_type'),
    needing AS (
      SELECT d.* FROM pg_depend d JOIN type t ON d.refclassid = 'pg_type'::regclass AND d.refobjid IN (t.oid, t.typarray)
      UNION SELECT d.* FROM pg_depend d JOIN kept k ON d.refclassid = k.class AND d.refobjid = k.oid AND d.refobjsubid = k.part)
    SELECT regexp_replace(pg_describe_object(n.classid, n.objid, n.objsubid), '^rule _RETURN on ', '') AS need FROM needing n
      -- The rule of a view stands for its columns. NOT NULL has been a constraint since PostgreSQL 18, which fits any type.
      WHERE n.deptype <> 'i' AND NOT EXISTS (
          SELECT FROM pg_class v WHERE n.classid = 'pg_class'::regclass AND v.oid = n.objid AND v.relkind IN ('v', 'm'))
        AND NOT EXISTS (
          SELECT FROM pg_constraint c WHERE n.classid = 'pg_constraint'::regclass AND c.oid = n.objid AND c.contype = 'n')
        AND (n.classid, n.objid, n.objsubid) NOT IN (SELECT class, oid, part FROM kept) AND NOT EXISTS (
        SELECT FROM pg_rewrite r WHERE n.classid = 'pg_rewrite'::regclass AND r.oid = n.objid
          AND r.ev_class = to_regclass(format('%I.user_factors', ${schema}::text)))
    UNION SELECT 'its comment' FROM type WHERE obj_description(oid, 'pg_type') IS NOT NULL
    UNION SELECT 'its owner' FROM type WHERE typowner <> (SELECT oid FROM pg_roles WHERE rolname = current_user)
    UNION SELECT 'its rights' FROM type WHERE typacl IS NOT NULL
    UNION SELECT format('its value %s', e.enumlabel) FROM type t JOIN pg_enum e ON e.enumtypid = t.oid
      WHERE e.enumlabel <> ALL (${[...VALUES]}::text[])
    ORDER BY need`.execute(db)
  return rows.map(({ need }) => need)
}
