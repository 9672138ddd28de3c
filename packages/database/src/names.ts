import { localName, type Names } from '@trestle/migrations/migration.ts'
import { type RawBuilder, sql } from 'kysely'

/** A valid DB_NAMESPACE. It is in lower case, so it needs no quotes. It is short enough to be the prefix of all names. */
export const NAMESPACE_PATTERN = /^[a-z_][a-z0-9_]{0,30}$/

/**
 * Creates the identifiers of a service.
 * @param schema the schema of the service, for example `auth`
 * @param namespace the setting DB_NAMESPACE. `_` is added unless it ends in `_`
 */
export function createNames(schema: string, namespace = ''): Names {
  const prefix = namespace === '' || namespace.endsWith('_') ? namespace : `${namespace}_`
  return {
    schema,
    prefix,
    jobSchema: `${prefix}${schema}_jobs`,
    id: (name) => sql.id(schema, prefix + name),
    local: (name) => sql.id(localName(prefix, name)),
  }
}

/**
 * Returns a condition: an object of a schema belongs to a namespace. Other namespaces in the schema have their own table of
 * migrations. Their prefix may begin with this prefix.
 * @param name a column. Include the name of its table if pg_class has a column of this name too, because the condition reads
 * pg_class
 */
export function isOwn(
  name: RawBuilder<unknown>,
  { schema, prefix }: Pick<Names, 'schema' | 'prefix'>,
): RawBuilder<boolean> {
  return sql<boolean>`(starts_with(${name}, ${prefix}) AND NOT EXISTS (
    SELECT FROM pg_class other JOIN pg_namespace place ON place.oid = other.relnamespace
    WHERE place.nspname = ${schema} AND other.relkind = 'r' AND right(other.relname, ${sql.lit(MIGRATIONS.length)}) = ${MIGRATIONS}
      AND length(other.relname) > ${sql.lit(prefix.length + MIGRATIONS.length)}
      AND starts_with(${name}, left(other.relname, ${sql.lit(-MIGRATIONS.length)}))))`
}

/**
 * Returns a condition: an extension has created an object. An extension may be in the schema of a service, but neither the
 * service nor an application has made its objects.
 * @param catalog the catalogue of the object
 * @param oid the column with the number of the object
 */
export function isOfExtension(
  catalog: 'pg_class' | 'pg_proc' | 'pg_type',
  oid: RawBuilder<unknown>,
): RawBuilder<boolean> {
  return sql<boolean>`EXISTS (
    SELECT FROM pg_depend e WHERE e.classid = ${sql.lit(catalog)}::regclass AND e.objid = ${oid} AND e.deptype = 'e')`
}

/** The last part of the name of each table of migrations, after the prefix. */
export const MIGRATIONS = 'trestle_migrations'

/** The migrator's own tables. They are not part of the schema that the migrations create. */
export const migratorTables = [MIGRATIONS, `${MIGRATIONS}_lock`, 'trestle_functions', 'trestle_distribution'] as const

export function migratorTable({ prefix }: Pick<Names, 'prefix'>, table: (typeof migratorTables)[number]): string {
  return prefix + table
}
