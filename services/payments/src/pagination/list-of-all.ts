import type { Lanes } from '@trestle/database/lanes.ts'
import { type PreparedQuery, prepareOnCoordinator } from '@trestle/database/prepare.ts'
import { type RawBuilder, sql } from 'kysely'
import type { PageBounds } from './page-query.ts'

/** A column by which an operator may filter a list. The column of rows must equal it, or the expression of the list. */
type FilterColumn =
  | 'merchant_id'
  | 'transaction_id'
  | 'status'
  | 'id'
  | 'last4'
  | 'amount'
  | 'currency'
  | 'reference'
  | 'actor'
  | 'action'

/** The filters and the page of a list of the rows of all merchants. An undefined filter filters nothing. */
export interface ListOfAllInput extends PageBounds {
  readonly filters: Readonly<Partial<Record<FilterColumn, string | undefined>>>
  /** Conditions that rows must meet, or must not meet, by name. */
  readonly flags?: Readonly<Record<string, boolean | undefined>>
}

/** Reads a page of rows of all merchants. */
export type ListOfAll<Columns> = (lanes: Lanes, input: ListOfAllInput) => Promise<readonly Columns[]>

type ListColumns = Omit<PageBounds, 'order'> & Readonly<Partial<Record<FilterColumn, string | undefined>>>

/** The columns that a list selects of its rows `r`, and its filters. */
interface ListOfAllSource {
  readonly table: string
  readonly columns: RawBuilder<unknown>
  /** Joins of other rows of the merchant of `r`. */
  readonly join?: RawBuilder<unknown>
  /** The columns that the list may be filtered by. Each but `merchant_id` needs an index with the place. */
  readonly filters: readonly FilterColumn[]
  /** The expression that a filter compares with, in place of a column. The index is on the same expression. */
  readonly expressions?: Readonly<Partial<Record<FilterColumn, RawBuilder<unknown>>>>
  /** Conditions on `r`, by name. They are literal, so that a partial index serves them. */
  readonly flags?: Readonly<Record<string, RawBuilder<unknown>>>
  /** The place of a row in the list, as 24 hexadecimal digits in the order of creation. Default: the id. */
  readonly place?: RawBuilder<unknown>
}

/**
 * Declares a list of the rows of all merchants, for operators, in the order of the page. It asks every server of a distributed
 * database. There is one query for each set of filters that are given: a plan that fits all values would walk the whole table for
 * a filter that may be absent.
 */
export function listOfAll<Columns>(
  name: string,
  { table, columns, join = sql``, filters, flags = {}, place = sql`r.id`, ...source }: ListOfAllSource,
): ListOfAll<Columns> {
  const conditions = [
    ...filters.map((column) => compare(column, source)),
    ...Object.entries(flags).map(([flag, holds]) => either(flag, holds)),
  ]
  const queries = new Map<string, PreparedQuery<ListColumns, Columns>>()
  for (const given of combinations(conditions)) {
    for (const order of ['newest-first', 'oldest-first'] as const) {
      const key = keyOf(order, given)
      const query = prepareOnCoordinator(
        `${name}_${key}`,
        (p: ListColumns) => sql<Columns>`
        SELECT ${columns} FROM ${sql.table(table)} r ${join} WHERE ${place} > ${p.above} AND ${place} < ${p.below}
        ${sql.join(
          given.map(({ holds }) => sql`AND ${holds(p)}`),
          sql` `,
        )}
        ORDER BY ${place} ${order === 'newest-first' ? sql`DESC` : sql`ASC`} LIMIT ${p.limit}`,
      )
      queries.set(key, query)
    }
  }
  return async ({ read }, { filters: asked, flags: choices = {}, order, ...page }) => {
    const named = [
      ...filters.filter((column) => asked[column] !== undefined),
      ...Object.keys(flags).flatMap((flag) => nameOfChoice(flag, choices)),
    ]
    const query = queries.get(
      keyOf(
        order,
        named.map((each) => ({ name: each })),
      ),
    )
    if (query === undefined) throw new Error(`${name} has no such filters`)
    return read.all(query, { ...page, ...asked })
  }
}

/** Something that a page may be asked for. */
interface Condition {
  readonly name: string
  readonly holds: (p: ListColumns) => RawBuilder<unknown>
}

function compare(
  column: FilterColumn,
  { expressions = {} }: Pick<ListOfAllSource, 'expressions'>,
): readonly Condition[] {
  const expression = expressions[column] ?? sql`r.${sql.id(column)}`
  return [{ name: column, holds: (p) => sql`${expression} = ${p[column]}` }]
}

function either(flag: string, condition: RawBuilder<unknown>): readonly Condition[] {
  return [
    { name: flag, holds: () => sql`(${condition})` },
    { name: `not_${flag}`, holds: () => sql`NOT (${condition})` },
  ]
}

function nameOfChoice(flag: string, choices: NonNullable<ListOfAllInput['flags']>): readonly string[] {
  const choice = choices[flag]
  if (choice === undefined) return []
  return [choice ? flag : `not_${flag}`]
}

function keyOf(order: PageBounds['order'], given: readonly Pick<Condition, 'name'>[]): string {
  return [order === 'newest-first' ? 'desc' : 'asc', ...given.map(({ name }) => name)].join('_')
}

/** All ways to ask for at most one of each group. */
function combinations(groups: readonly (readonly Condition[])[]): readonly (readonly Condition[])[] {
  const [first, ...others] = groups
  if (first === undefined) return [[]]
  return combinations(others).flatMap((rest) => [rest, ...first.map((condition) => [condition, ...rest])])
}
