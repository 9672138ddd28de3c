import type { Lanes } from '@trestle/database/lanes.ts'
import { prepareOnCoordinator } from '@trestle/database/prepare.ts'
import { type RawBuilder, sql } from 'kysely'
import type { PageBounds } from '../pagination/page-query.ts'

/** A key of an app in a list of operators, without the key. */
export interface OperatedKey {
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

/** An app as operators see it. */
export interface OperatedApp {
  readonly id: string
  readonly name: string | null
  readonly created: Date
  /** The newest 25, newest first, the revoked ones too. */
  readonly keys: readonly OperatedKey[]
}

/** The filters and the page of an operator's list of apps. */
export interface AppSearch extends PageBounds {
  /** An id, how a name begins in any case, or the last four characters of a key. Undefined: all apps. */
  readonly search: string | undefined
}

type SearchColumns = Omit<AppSearch, 'order'>

const KEYS_MAX = 25

function pageQuery(name: string, order: RawBuilder<unknown>, condition: (p: SearchColumns) => RawBuilder<unknown>) {
  return prepareOnCoordinator(
    name,
    (p: SearchColumns) => sql<OperatedApp>`
    SELECT a.id, a.name, a.created, coalesce((
      SELECT json_agg(k ORDER BY k.id DESC) FROM (
        SELECT k.id, k.hint, k.scopes, k.created, k.expires, k.last_used AS "lastUsed", k.revoked
        FROM ${sql.table('app_keys')} k WHERE k.app_id = a.id ORDER BY k.id DESC LIMIT ${sql.lit(KEYS_MAX)}
      ) k
    ), '[]') AS keys
    FROM ${sql.table('apps')} a WHERE a.id > ${p.above} AND a.id < ${p.below} AND ${condition(p)}
    ORDER BY a.id ${order} LIMIT ${p.limit}`,
  )
}

/** Each has an index of its own. A plan that fits all values cannot use an index for LIKE, so a beginning is a range. */
function isFound(p: SearchColumns): RawBuilder<unknown> {
  const name = sql`lower(f.name) COLLATE "C"`
  return sql`a.id IN (
      SELECT f.id FROM ${sql.table('apps')} f WHERE f.id = lower(${p.search}::text)
      UNION SELECT f.id FROM ${sql.table('apps')} f
        WHERE ${name} >= lower(${p.search}::text) AND ${name} < lower(${p.search}::text) || chr(1114111)
      UNION SELECT f.app_id FROM ${sql.table('app_keys')} f WHERE f.hint = ${p.search}::text
    )`
}

const queries = {
  all: {
    'newest-first': pageQuery('page_of_apps', sql`DESC`, () => sql`true`),
    'oldest-first': pageQuery('page_of_apps_reversed', sql`ASC`, () => sql`true`),
  },
  found: {
    'newest-first': pageQuery('found_apps', sql`DESC`, isFound),
    'oldest-first': pageQuery('found_apps_reversed', sql`ASC`, isFound),
  },
}

/** A page of the apps of everybody, for an operator. */
export function listOperatedApps({ read }: Lanes, { order, ...asked }: AppSearch): Promise<readonly OperatedApp[]> {
  return read.all(queries[asked.search === undefined ? 'all' : 'found'][order], asked)
}
