import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, type QueryExecutorProvider, type RawBuilder, sql } from 'kysely'

/** The name of the change that lets factors be phones, by a value of the type of factors. */
export const PHONE_FACTORS = 'factor_type.phone'
const VALUES = ['totp', 'webauthn', 'phone'] as const

type Place = Pick<Names, 'schema'>

/** Whether the type of factors has the value for phones. */
export function hasPhoneValue({ schema }: Place): RawBuilder<boolean> {
  return sql<boolean>`EXISTS (
    SELECT FROM pg_enum WHERE enumtypid = to_regtype(format('%I.factor_type', ${schema}::text)) AND enumlabel = 'phone')`
}

/** Adds the value for phones. */
export function addPhoneValue({ schema }: Place): RawBuilder<unknown> {
  return sql`ALTER TYPE ${sql.id(schema, 'factor_type')} ADD VALUE 'phone'`
}

/**
 * Removes the factors that are phones, and their value, as `addPhoneValue` has added it. PostgreSQL takes no
 * value out of a type, so the type is made anew, unless somebody needs it as it is: then the value stays.
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
 * Lists what needs the type of factors as it is: objects of others that name the type or its column, such as
 * views, policies, partial indexes and checks, for which PostgreSQL refuses another type, and what a new type
 * would lack. The view of this service goes before the type.
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
