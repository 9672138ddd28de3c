import type { Lanes } from '@trestle/database/lanes.ts'
import { type PreparedQuery, prepareOnCoordinator } from '@trestle/database/prepare.ts'
import { type RawBuilder, sql } from 'kysely'
import type { PageBounds } from './page-query.ts'

/** A column that an operator may filter a list by. Rows must equal it. */
type FilterColumn = 'merchant_id' | 'transaction_id' | 'status'

/** Which rows of all merchants a page has. An undefined filter filters nothing. */
export interface ListOfAllInput extends PageBounds {
  readonly filters: Readonly<Partial<Record<FilterColumn, string | undefined>>>
}

/** Reads a page of rows of all merchants. */
export type ListOfAll<Columns> = (lanes: Lanes, input: ListOfAllInput) => Promise<readonly Columns[]>

type ListColumns = Omit<PageBounds, 'order'> & Readonly<Partial<Record<FilterColumn, string>>>

/**
 * Declares a list of the rows of all merchants, for operators, by id in the order of the page. It asks every server of a
 * distributed database. There is one query for each set of filters that are given: a plan that fits all values would walk the
 * whole table for a filter that may be absent.
 * @param columns what is selected of the row `r`
 * @param filters the columns that it may be filtered by. Each but `merchant_id` needs an index with the id
 */
export function listOfAll<Columns>(
  name: string,
  { table, columns }: { readonly table: string; readonly columns: RawBuilder<unknown> },
  filters: readonly FilterColumn[],
): ListOfAll<Columns> {
  const queries = new Map<string, PreparedQuery<ListColumns, Columns>>()
  for (const given of subsetsOf(filters)) {
    for (const order of ['newest-first', 'oldest-first'] as const) {
      const direction = order === 'newest-first' ? sql`DESC` : sql`ASC`
      const key = keyOf(order, given)
      const query = prepareOnCoordinator(
        `${name}_${key}`,
        (p: ListColumns) => sql<Columns>`
        SELECT ${columns} FROM ${sql.table(table)} r WHERE r.id > ${p.above} AND r.id < ${p.below}
        ${sql.join(
          given.map((column) => sql`AND r.${sql.id(column)} = ${p[column]}`),
          sql` `,
        )}
        ORDER BY r.id ${direction} LIMIT ${p.limit}`,
      )
      queries.set(key, query)
    }
  }
  return async ({ read }, { filters: asked, order, ...page }) => {
    const values = Object.entries(asked).filter(([, value]) => value !== undefined)
    const query = queries.get(
      keyOf(
        order,
        filters.filter((column) => values.some(([given]) => given === column)),
      ),
    )
    if (query === undefined) throw new Error(`${name} has no such filters`)
    return read.all(query, { ...page, ...Object.fromEntries(values) })
  }
}

function keyOf(order: PageBounds['order'], given: readonly string[]): string {
  return [order === 'newest-first' ? 'desc' : 'asc', ...given].join('_')
}

function subsetsOf<Item>(items: readonly Item[]): readonly (readonly Item[])[] {
  const [first, ...others] = items
  if (first === undefined) return [[]]
  return subsetsOf(others).flatMap((set) => [set, [first, ...set]])
}
