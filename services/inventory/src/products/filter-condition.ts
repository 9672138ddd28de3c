import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { ProductFilter } from './product-filter.ts'

/** A filter as a condition on a row of `products`. Whatever a client has sent is a bound value in it. */
export function conditionOf(filter: ProductFilter): RawBuilder<SqlBool> {
  switch (filter.kind) {
    case 'sku':
      return sql`sku = ANY(${filter.values}::text[])`
    case 'sku-prefix':
      return sql`sku ^@ ${filter.prefix}`
    case 'contains': {
      // The form that the GIN index over attributes answers.
      const found = sql<SqlBool>`attributes @> ANY(${filter.values}::jsonb[])`
      return filter.negated ? sql`NOT (${found})` : found
    }
    case 'one-of':
      // The second condition is the one that the GIN index answers. The first one says the same: where rows are looked at one by
      // one, it takes the value out once and finds it by its hash, instead of comparing the attributes with every value.
      return sql`(jsonb_path_query_first(attributes, ${filter.jsonPath}::jsonpath, '{}', true) = ANY(${filter.literals}::jsonb[])
        AND attributes @> ANY(${filter.nested}::jsonb[]))`
    case 'predicate':
      return sql`attributes @@ ${filter.jsonPath}::jsonpath`
    case 'exists':
      // Null where a key on the way is missing: jsonpath in strict mode calls that an error.
      return sql`coalesce(attributes @? ${filter.jsonPath}::jsonpath, false) = ${filter.wanted}`
    case 'search':
      return searchCondition(filter.text)
  }
}

/** Every word in sku or values, the last one as the beginning of a word; or the sku begins with the text, in any case. */
function searchCondition(text: string): RawBuilder<SqlBool> {
  const words = text.split(/\s+/)
  const last = words.pop() ?? ''
  const prefix = `'${last.replaceAll(/['\\]/g, '$&$&')}':*`
  const pattern = `${text.replaceAll(/[\\%_]/g, '\\$&')}%`
  return sql`(
    search @@ (plainto_tsquery('pg_catalog.simple', ${words.join(' ')}) && to_tsquery('pg_catalog.simple', ${prefix}))
    OR lower(sku COLLATE "default") LIKE lower(${pattern}::text COLLATE "default"))`
}
