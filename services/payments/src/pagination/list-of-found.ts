import type { Lanes } from '@trestle/database/lanes.ts'
import { type PreparedQuery, prepareOnCoordinator } from '@trestle/database/prepare.ts'
import { type RawBuilder, sql } from 'kysely'
import type { PageBounds } from './page-query.ts'

/** A page of a list, and the text that finds its rows. */
export interface SearchPage extends PageBounds {
  /** Undefined: all rows. */
  readonly search: string | undefined
}

/** The columns that a list selects, and how a text finds its rows. */
interface ListOfFoundSource<Search> {
  readonly table: string
  /** The name of a row in the conditions. */
  readonly row: string
  readonly columns: RawBuilder<unknown>
  readonly join?: RawBuilder<unknown>
  /** The condition that rows must meet beside the search. */
  readonly filter?: (p: Search) => RawBuilder<unknown>
  /** The conditions by which a whole value finds a row. Each has an index, and few rows meet it. */
  readonly wholes: (p: Search) => readonly RawBuilder<unknown>[]
  /**
   * The columns that the text may be the beginning of, in any case. Each has an index of `lower(column)
   * COLLATE "C"` and the id.
   */
  readonly beginnings: readonly string[]
}

/** Reads a page of rows that a text finds, or of all rows. */
export type ListOfFound<Search, Columns> = (lanes: Lanes, search: Search) => Promise<readonly Columns[]>

/** The most rows that are found by an index before the list is walked instead. */
const FEW = 500

/**
 * Declares a list, in the order of ids, of the rows that a text finds. The indexes of beginnings have their
 * rows in another order, so a text that many values begin with, such as `https`, would have the database read
 * and sort all of them for one page. At most 501 of each index are read: when these are all, the page is one
 * of them, and otherwise a walk over the ids soon finds as many as the page needs.
 */
export function listOfFound<Search extends SearchPage, Columns>(
  name: string,
  source: ListOfFoundSource<Search>,
): ListOfFound<Search, Columns> {
  const id = sql`${sql.id(source.row)}.id`
  const all = pageQueries<Search, Columns>(name, source, () => sql`true`)
  const few = pageQueries<Search & Found, Columns>(`${name}_of_few`, source, (p) => sql`${id} = ANY (${p.ids}::text[])`)
  const many = pageQueries<Search, Columns>(`${name}_of_many`, source, (p) => isFound(p, source))
  const foundQuery = prepareOnCoordinator<Search, { id: string }>(`${name}_found`, (p) => findFew(p, source))
  return async ({ read }, search) => {
    if (search.search === undefined) return read.all(all[search.order], search)
    const ids = (await read.all(foundQuery, search)).map((found) => found.id)
    if (ids.length > FEW) return read.all(many[search.order], search)
    return ids.length === 0 ? [] : read.all(few[search.order], { ...search, ids })
  }
}

interface Found {
  readonly ids: readonly string[]
}

type PageQueries<Search extends object, Columns> = Record<PageBounds['order'], PreparedQuery<Search, Columns>>

function pageQueries<Search extends SearchPage, Columns>(
  name: string,
  { table, row, columns, join = sql``, filter = () => sql`true` }: ListOfFoundSource<Search>,
  condition: (p: Search) => RawBuilder<unknown>,
): PageQueries<Search, Columns> {
  const id = sql`${sql.id(row)}.id`
  const query = (suffix: string, order: RawBuilder<unknown>) =>
    prepareOnCoordinator<Search, Columns>(
      `${name}${suffix}`,
      (p) => sql<Columns>`
      SELECT ${columns} FROM ${sql.table(table)} ${sql.id(row)} ${join}
      WHERE ${id} > ${p.above} AND ${id} < ${p.below} AND ${filter(p)} AND ${condition(p)}
      ORDER BY ${id} ${order} LIMIT ${p.limit}`,
    )
  return { 'newest-first': query('', sql`DESC`), 'oldest-first': query('_reversed', sql`ASC`) }
}

/** The ids that a text finds, at most one more than few of each condition. Some may be there twice. */
function findFew<Search extends SearchPage>(
  p: Search,
  { table, row, wholes, beginnings }: ListOfFoundSource<Search>,
): RawBuilder<{ id: string }> {
  const rows = sql`FROM ${sql.table(table)} ${sql.id(row)} WHERE`
  const limit = sql`LIMIT ${sql.lit(FEW + 1)}`
  const id = sql`${sql.id(row)}.id`
  return sql<{ id: string }>`${sql.join(
    [
      ...wholes(p).map((condition) => sql`(SELECT ${id} ${rows} ${condition} ${limit})`),
      // The end is outside. With both ends inside, a plan that fits all texts counts on few rows, and sorts all that there are.
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

/** A plan that fits all values cannot use an index for LIKE, so beginnings are ranges. */
function isFound<Search extends SearchPage>(
  p: Search,
  { row, wholes, beginnings }: ListOfFoundSource<Search>,
): RawBuilder<unknown> {
  const ranges = beginnings.map((column) => {
    const value = lowered(row, column)
    return sql`(${value} >= lower(${p.search}::text) AND ${value} < ${endOf(p)})`
  })
  return sql`(${sql.join([...wholes(p), ...ranges], sql` OR `)})`
}

function lowered(row: string, column: string): RawBuilder<unknown> {
  return sql`lower(${sql.id(row, column)}) COLLATE "C"`
}

/** A text behind all that begin with the text of the search. */
function endOf({ search }: SearchPage): RawBuilder<unknown> {
  return sql`lower(${search}::text) || chr(1114111)`
}
