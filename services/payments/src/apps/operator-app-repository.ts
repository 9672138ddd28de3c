import { sql } from 'kysely'
import { type ListOfFound, listOfFound, type SearchPage } from '../pagination/list-of-found.ts'
import { ID_FORM } from '../pagination/page-query.ts'

export interface KeyForOperator {
  readonly id: string
  /** The last four characters of the key. */
  readonly hint: string
  /** Null: not restricted. */
  readonly scopes: readonly string[] | null
  readonly created: string
  readonly expires: string | null
  readonly lastUsed: string | null
  readonly revoked: string | null
}

export interface AppForOperator {
  readonly id: string
  readonly name: string | null
  readonly created: Date
  /** The newest 25, newest first, the revoked ones too. */
  readonly keys: readonly KeyForOperator[]
}

export interface AppSearch extends SearchPage {
  /** An id, how a name begins in any case, or the last four characters of a key. Undefined: all apps. */
  readonly search: string | undefined
}

const KEYS_MAX = 25

export const appsForOperator: ListOfFound<AppSearch, AppForOperator> = listOfFound('page_of_apps', {
  table: 'apps',
  row: 'a',
  columns: sql`a.id, a.name, a.created, coalesce((
      SELECT json_agg(k ORDER BY k.id DESC) FROM (
        SELECT k.id, k.hint, k.scopes, k.created, k.expires, k.last_used AS "lastUsed", k.revoked
        FROM ${sql.table('app_keys')} k WHERE k.app_id = a.id ORDER BY k.id DESC LIMIT ${sql.lit(KEYS_MAX)}
      ) k
    ), '[]') AS keys`,
  isId: (search) => ID_FORM.test(search),
  hasId: (p) => sql`a.id = lower(${p.search}::text)`,
  hasValue: (p) => sql`a.id IN (SELECT k.app_id FROM ${sql.table('app_keys')} k WHERE k.hint = ${p.search}::text)`,
  beginnings: ['name'],
})
