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
export interface ListOfFoundSource<Search> {
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
   * The columns that the text may be the beginning of, in any case. Each has an index of `lower(left(column, 255))
   * COLLATE "C"` and the id. A search is no longer, and the row of an index has no room for the longest website.
   */
  readonly beginnings: readonly string[]
}

/** Reads a page of rows that a text finds, or of all rows. */
export type ListOfFound<Search, Columns> = (lanes: Lanes, search: Search) => Promise<readonly Columns[]>

/** The most rows that are found by an index, or walked, before another way is tried. */
const FEW = 500

/**
 * Declares a list, in the order of ids, of the rows that a text finds. The indexes of beginnings have their rows
 * in another order, so a text that many values begin with, such as `https`, would have the database read and sort
 * all of them for one page. At most 501 of each index are read: when these are all, the page is one of them.
 * Otherwise a walk over 500 ids mostly finds as many as the page needs. Where it does not, the database sorts all
 * that the indexes find: a longer walk would read every text of the rows between, which may be long.
 */
export function listOfFound<Search extends SearchPage, Columns>(
  name: string,
  source: ListOfFoundSource<Search>,
): ListOfFound<Search, Columns> {
  const id = sql`${sql.id(source.row)}.id`
  const all = pageQueries<Search, Columns>(name, source, () => sql`true`)
  const few = pageQueries<Search & Found, Columns>(`${name}_of_few`, source, (p) => sql`${id} = ANY (${p.ids}::text[])`)
  const near = pageQueries<Search, Columns>(`${name}_nearby`, { ...source, walked: FEW }, (p) => isFound(p, source))
  const fewQuery = prepareOnCoordinator<Search, { id: string }>(`${name}_found`, (p) => findFew(p, source))
  const manyQueries = inBothOrders((suffix, order) =>
    prepareOnCoordinator<Search, { id: string }>(`${name}_of_many${suffix}`, (p) => findMany(p, source, order)),
  )
  return async ({ read }, search) => {
    const { search: text, order, limit } = search
    if (text === undefined) return read.all(all[order], search)
    const pageOf = (rows: readonly { readonly id: string }[]) => {
      return rows.length === 0 ? [] : read.all(few[order], { ...search, ids: rows.map((row) => row.id) })
    }
    const found = await read.all(fewQuery, search)
    if (found.length <= FEW) return pageOf(found)
    const nearby = await read.all(near[order], search)
    return nearby.length < limit ? pageOf(await read.all(manyQueries[order], search)) : nearby
  }
}

interface Found {
  readonly ids: readonly string[]
}

type InBothOrders<Query> = Record<PageBounds['order'], Query>

function inBothOrders<Query>(declare: (suffix: string, order: RawBuilder<unknown>) => Query): InBothOrders<Query> {
  return { 'newest-first': declare('', sql`DESC`), 'oldest-first': declare('_reversed', sql`ASC`) }
}

/** @param source `walked`: how many rows of the place of a page are looked at; undefined: all */
function pageQueries<Search extends SearchPage, Columns>(
  name: string,
  {
    table,
    row,
    columns,
    join = sql``,
    filter = () => sql`true`,
    walked,
  }: ListOfFoundSource<Search> & { walked?: number },
  condition: (p: Search) => RawBuilder<unknown>,
): InBothOrders<PreparedQuery<Search, Columns>> {
  const id = sql`${sql.id(row)}.id`
  return inBothOrders((suffix, order) =>
    prepareOnCoordinator<Search, Columns>(`${name}${suffix}`, (p) => {
      const onPage = sql`${id} > ${p.above} AND ${id} < ${p.below} AND ${filter(p)}`
      const rows = sql`${sql.table(table)} ${sql.id(row)}`
      const first =
        walked &&
        sql`(SELECT * FROM ${rows} WHERE ${onPage} ORDER BY ${id} ${order} LIMIT ${sql.lit(walked)}) ${sql.id(row)}`
      return sql<Columns>`
        SELECT ${columns} FROM ${first ?? rows} ${join}
        WHERE ${first ? sql`true` : onPage} AND ${condition(p)}
        ORDER BY ${id} ${order} LIMIT ${p.limit}`
    }),
  )
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

/** The ids of a page of all rows that a text finds by the indexes. */
function findMany<Search extends SearchPage>(
  p: Search,
  source: ListOfFoundSource<Search>,
  order: RawBuilder<unknown>,
): RawBuilder<{ id: string }> {
  const { table, row, filter = () => sql`true` } = source
  const found = conditionsOf(p, source).map(
    (condition) =>
      sql`SELECT ${sql.id(row)}.id FROM ${sql.table(table)} ${sql.id(row)} WHERE ${condition} AND ${filter(p)}`,
  )
  // The limit stays outside: with it the planner would walk over the ids.
  return sql<{ id: string }>`WITH found AS MATERIALIZED (${sql.join(found, sql` UNION `)})
    SELECT f.id FROM found f WHERE f.id > ${p.above} AND f.id < ${p.below} ORDER BY f.id ${order} LIMIT ${p.limit}`
}

function isFound<Search extends SearchPage>(p: Search, source: ListOfFoundSource<Search>): RawBuilder<unknown> {
  return sql`(${sql.join(conditionsOf(p, source), sql` OR `)})`
}

/** A plan that fits all values cannot use an index for LIKE, so beginnings are ranges. */
function conditionsOf<Search extends SearchPage>(
  p: Search,
  { row, wholes, beginnings }: ListOfFoundSource<Search>,
): readonly RawBuilder<unknown>[] {
  const ranges = beginnings.map((column) => {
    const value = lowered(row, column)
    return sql`(${value} >= lower(${p.search}::text) AND ${value} < ${endOf(p)})`
  })
  return [...wholes(p), ...ranges]
}

function lowered(row: string, column: string): RawBuilder<unknown> {
  return sql`lower(left(${sql.id(row, column)}, 255)) COLLATE "C"`
}

/** A text behind all that begin with the text of the search. */
function endOf({ search }: SearchPage): RawBuilder<unknown> {
  return sql`lower(${search}::text) || chr(1114111)`
}
