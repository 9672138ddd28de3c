import type { Pools } from '@trestle/database/pools.ts'
import { type PreparedQuery, prepareOnCoordinator } from '@trestle/database/prepare.ts'
import { type RawBuilder, sql } from 'kysely'
import type { PageBounds } from './page-query.ts'

/** A page of a list, and the search text of the list. */
export interface SearchPage extends PageBounds {
  /** If it is `undefined`, the list contains all rows. */
  readonly search: string | undefined
}

/** The columns that a list selects, and how a search text finds its rows. */
export interface ListOfFoundSource<Search> {
  readonly table: string
  /** The alias of a row in the conditions. */
  readonly row: string
  readonly columns: RawBuilder<unknown>
  readonly join?: RawBuilder<unknown>
  /** A condition that rows must meet in addition to the search. */
  readonly filter?: (p: Search) => RawBuilder<unknown>
  /** Whether a text has the form of an id or a key. It then finds only that row, because names could hide the row. */
  readonly isId: (text: string) => boolean
  readonly hasId: (p: Search) => RawBuilder<unknown>
  /** Another condition by which a whole text finds a row. It needs an index. */
  readonly hasValue?: (p: Search) => RawBuilder<unknown>
  /**
   * The columns that may begin with the text, in any case. Each has an index on `lower(left(column, 255)) COLLATE "C"` and the
   * id. A search is no longer than that, and the longest website does not fit into an index entry.
   */
  readonly beginnings: readonly string[]
}

/** The rows of a page that a text finds. */
export interface FoundPage<Row> {
  readonly rows: readonly Row[]
  /** The id of the last row that was read, if later rows may match too. If it is `undefined`, the page is complete. */
  readonly cutAt: string | undefined
}

export interface ListOfFound<Search, Columns> {
  /** Reads a page of the rows that the text finds, or of all rows if there is no text. */
  readonly page: (pools: Pools, search: Search) => Promise<FoundPage<Columns>>
  /** Reads the newest of the first 501 rows that each index finds, at most `limit`. */
  readonly newest: (pools: Pools, search: Search & { readonly search: string }) => Promise<readonly Columns[]>
}

/** The maximum number of rows that the indexes may find for a page, and that a walk reads. */
const ROWS_MAX = 500

/**
 * Declares a list, ordered by id, of the rows that a text finds. The indexes of the searched columns have another order. For a
 * frequent beginning such as `https`, PostgreSQL would read and sort all matches for one page. So a query reads at most 501 rows
 * from each index. If these are all matches, the page comes from them. Otherwise it walks over 500 ids, which usually contain
 * enough matches. If not, the page ends with the walk, because a longer walk would read too many long texts.
 */
export function listOfFound<Search extends SearchPage, Columns>(
  name: string,
  source: ListOfFoundSource<Search>,
): ListOfFound<Search, Columns> {
  const all = pageQueries<Search, Columns>(name, source, () => sql`true`)
  const withId = pageQueries<Search, Columns>(`${name}_with_id`, source, source.hasId)
  const ofFound = pageQueries<Search & Ids, Columns>(`${name}_of_found`, source, (p) => isOneOf(p, source))
  const ofWalk = pageQueries<Search & Ids, Columns>(`${name}_of_walk`, source, (p) => {
    return sql`${isOneOf(p, source)} AND ${isFound(p, source)}`
  })
  const foundQuery = prepareOnCoordinator<Search, { id: string }>(`${name}_found`, (p) => findByIndexes(p, source))
  const walkQueries = inBothOrders((suffix, order) => walkQuery(`${name}_walk${suffix}`, source, order))
  const findIds = async ({ read }: Pools, search: Search) => idsOf(await read.all(foundQuery, search))
  const readFound = async ({ read }: Pools, search: Search, ids: readonly string[]) => {
    return ids.length === 0 ? [] : read.all(ofFound[search.order], { ...search, ids })
  }
  return {
    async page(pools, search) {
      const { search: text, order, limit } = search
      if (text === undefined) return wholePage(await pools.read.all(all[order], search))
      if (source.isId(text)) return wholePage(await pools.read.all(withId[order], search))
      const found = await findIds(pools, search)
      if (found.length <= ROWS_MAX) return wholePage(await readFound(pools, search, found))
      const walked = idsOf(await pools.read.all(walkQueries[order], search))
      const rows = await pools.read.all(ofWalk[order], { ...search, ids: walked })
      const isWhole = rows.length === limit || walked.length < ROWS_MAX
      return isWhole ? wholePage(rows) : { rows, cutAt: walked.at(-1) }
    },
    async newest(pools, search) {
      if (source.isId(search.search)) return pools.read.all(withId[search.order], search)
      return readFound(pools, search, await findIds(pools, search))
    },
  }
}

function wholePage<Row>(rows: readonly Row[]): FoundPage<Row> {
  return { rows, cutAt: undefined }
}

function idsOf(rows: readonly { readonly id: string }[]): readonly string[] {
  return rows.map((row) => row.id)
}

interface Ids {
  readonly ids: readonly string[]
}

type InBothOrders<Query> = Record<PageBounds['order'], Query>

function inBothOrders<Query>(declare: (suffix: string, order: RawBuilder<unknown>) => Query): InBothOrders<Query> {
  return { 'newest-first': declare('', sql`DESC`), 'oldest-first': declare('_reversed', sql`ASC`) }
}

function pageQueries<Search extends SearchPage, Columns>(
  name: string,
  source: ListOfFoundSource<Search>,
  condition: (p: Search) => RawBuilder<unknown>,
): InBothOrders<PreparedQuery<Search, Columns>> {
  const { table, row, columns, join = sql`` } = source
  const id = sql`${sql.id(row)}.id`
  return inBothOrders((suffix, order) =>
    prepareOnCoordinator(
      `${name}${suffix}`,
      (p) => sql`
        SELECT ${columns} FROM ${sql.table(table)} ${sql.id(row)} ${join}
        WHERE ${isOnPage(p, source)} AND ${condition(p)}
        ORDER BY ${id} ${order} LIMIT ${p.limit}`,
    ),
  )
}

/** Selects the ids of the next rows in the order of the page, whether or not the text matches them. */
function walkQuery<Search extends SearchPage>(
  name: string,
  source: ListOfFoundSource<Search>,
  order: RawBuilder<unknown>,
): PreparedQuery<Search, { id: string }> {
  const { table, row } = source
  const id = sql`${sql.id(row)}.id`
  return prepareOnCoordinator(
    name,
    (p) => sql`
      SELECT ${id} FROM ${sql.table(table)} ${sql.id(row)} WHERE ${isOnPage(p, source)}
      ORDER BY ${id} ${order} LIMIT ${sql.lit(ROWS_MAX)}`,
  )
}

function isOnPage<Search extends SearchPage>(
  p: Search,
  { row, filter = () => sql`true` }: ListOfFoundSource<Search>,
): RawBuilder<unknown> {
  const id = sql`${sql.id(row)}.id`
  return sql`${id} > ${p.above} AND ${id} < ${p.below} AND ${filter(p)}`
}

function isOneOf<Search extends SearchPage>({ ids }: Ids, { row }: ListOfFoundSource<Search>): RawBuilder<unknown> {
  return sql`${sql.id(row)}.id = ANY (${ids}::text[])`
}

/** Selects the ids that the indexes find, from each index at most one more than `ROWS_MAX`. An id may occur twice. */
function findByIndexes<Search extends SearchPage>(
  p: Search,
  { table, row, hasValue, beginnings }: ListOfFoundSource<Search>,
): RawBuilder<{ id: string }> {
  const rows = sql`FROM ${sql.table(table)} ${sql.id(row)} WHERE`
  const limit = sql`LIMIT ${sql.lit(ROWS_MAX + 1)}`
  const id = sql`${sql.id(row)}.id`
  return sql<{ id: string }>`${sql.join(
    [
      ...(hasValue ? [sql`(SELECT ${id} ${rows} ${hasValue(p)} ${limit})`] : []),
      // The upper bound is outside. With both bounds inside, the generic plan expects few rows, and sorts all matches.
      ...beginnings.map((column) => {
        const value = lowered(row, column)
        return sql`(
          SELECT f.id FROM (
            SELECT ${id}, ${value} AS value ${rows} ${value} >= lower(${p.search}::text) ORDER BY ${value}, ${id} ${limit}
          ) f WHERE f.value < ${endOf(p)}
        )`
      }),
    ],
    sql` UNION ALL `,
  )}`
}

/** A generic plan cannot use an index for LIKE with a parameter. So prefixes are searched as ranges. */
function isFound<Search extends SearchPage>(
  p: Search,
  { row, hasValue, beginnings }: ListOfFoundSource<Search>,
): RawBuilder<unknown> {
  const ranges = beginnings.map((column) => {
    const value = lowered(row, column)
    return sql`(${value} >= lower(${p.search}::text) AND ${value} < ${endOf(p)})`
  })
  return sql`(${sql.join([...(hasValue ? [hasValue(p)] : []), ...ranges], sql` OR `)})`
}

function lowered(row: string, column: string): RawBuilder<unknown> {
  return sql`lower(left(${sql.id(row, column)}, 255)) COLLATE "C"`
}

/** Returns a text that sorts after all texts that begin with the search text. */
function endOf({ search }: SearchPage): RawBuilder<unknown> {
  return sql`lower(${search}::text) || chr(1114111)`
}
