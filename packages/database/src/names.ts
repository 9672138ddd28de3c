import { localName, type Names } from '@trestle/migrations/migration.ts'
import { sql } from 'kysely'

/** A valid DB_NAMESPACE: lower case, so that it needs no quoting, and short enough for the names that it is put before. */
export const NAMESPACE_PATTERN = /^[a-z_][a-z0-9_]{0,30}$/

/**
 * Makes the identifiers of a service.
 * @param schema the schema of the service, for example `auth`
 * @param namespace the setting DB_NAMESPACE. `_` is added if it does not end in one
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
