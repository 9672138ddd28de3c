import type { Pools } from '@trestle/database/pools.ts'
import { type PreparedQuery, prepareOnCoordinator } from '@trestle/database/prepare.ts'
import { type RawBuilder, sql } from 'kysely'
import type { PageBounds } from './page-query.ts'

/** A column that an operator may filter by. Filters compare it, or the expression that the list has for it. */
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

/** The filters and the page of a list of the rows of all merchants. An `undefined` filter does not filter. */
export interface ListOfAllInput extends PageBounds {
  readonly filters: Readonly<Partial<Record<FilterColumn, string | undefined>>>
  /** Conditions by name. `true` means that rows must meet the condition, and `false` that they must not. */
  readonly flags?: Readonly<Record<string, boolean | undefined>>
}

/** Reads a page of rows of all merchants. */
export type ListOfAll<Columns> = (pools: Pools, input: ListOfAllInput) => Promise<readonly Columns[]>

/** The input of a `ListOfAny`. A row must have one of `values` in the column of the list. */
export interface ListOfAnyInput extends ListOfAllInput {
  /** At most `VALUES_MAX` values. */
  readonly values: readonly string[]
}

/** Reads a page of rows of all merchants that have one of the given values. */
export type ListOfAny<Columns> = (pools: Pools, input: ListOfAnyInput) => Promise<readonly Columns[]>

interface ListColumns extends Omit<PageBounds, 'order'>, Readonly<Partial<Record<FilterColumn, string | undefined>>> {
  readonly values?: readonly string[]
}

/** The columns that a list selects from its rows `r`, and its filters. */
interface ListOfAllSource {
  readonly table: string
  readonly columns: RawBuilder<unknown>
  /** Joins to other rows of the same merchant as `r`. */
  readonly join?: RawBuilder<unknown>
  /** The columns that the list may be filtered by. Each one except `merchant_id` needs an index of the column and `place`. */
  readonly filters: readonly FilterColumn[]
  /** Expressions that filters compare instead of a column. Each needs an index on the same expression. */
  readonly expressions?: Readonly<Partial<Record<FilterColumn, RawBuilder<unknown>>>>
  /** Conditions on `r`, by name. They contain no parameters, so that PostgreSQL can use a partial index for them. */
  readonly flags?: Readonly<Record<string, RawBuilder<unknown>>>
  /** The place of a row in the list, as 24 hexadecimal digits in the order of creation. The default is the id. */
  readonly place?: RawBuilder<unknown>
}

/**
 * Declares a list of the rows of all merchants, for operators, in the order of the page. In a distributed database, each query
 * reads from every server.
 */
export function listOfAll<Columns>(name: string, source: ListOfAllSource): ListOfAll<Columns> {
  return declareList<ListOfAllInput, Columns>(name, source, (p, given, direction) => {
    return selectPage(p, { source, conditions: given, direction })
  })
}

/** The maximum number of values of a `ListOfAny`. */
export const VALUES_MAX = 30
/** The numbers of values for which statements are prepared. In a cluster, each value costs a read on every server. */
const VALUE_COUNTS = [1, 5, VALUES_MAX]

/**
 * Declares a list like `listOfAll`, of rows whose `column` has one of several values. An index on the column has only the rows of
 * a single value in the order of the list. So the statement reads a page for each value, and takes the first rows of all of them.
 */
export function listOfAny<Columns extends { readonly id: string }>(
  name: string,
  column: FilterColumn,
  source: Omit<ListOfAllSource, 'place'>,
): ListOfAny<Columns> {
  const lists = VALUE_COUNTS.map((count) => ({ count, list: listOfCount<Columns>(name, { column, count, source }) }))
  return (pools, input) => {
    const fitting = lists.find(({ count }) => input.values.length <= count)
    if (fitting === undefined) throw new Error(`${name} takes at most ${VALUES_MAX} values`)
    return fitting.list(pools, input)
  }
}

/** Declares a list for at most `count` values. */
function listOfCount<Columns>(
  name: string,
  declared: { readonly column: FilterColumn; readonly count: number; readonly source: ListOfAllSource },
): ListOfAny<Columns> {
  const { column, count, source } = declared
  return declareList<ListOfAnyInput, Columns>(`${name}_${count}`, source, (p, given, direction) => {
    const pages = Array.from({ length: count }, (_, index) => {
      // An index beyond the last value yields `NULL`, which no column equals.
      const hasValue = sql`r.${sql.id(column)} = (${p.values}::text[])[${sql.lit(index + 1)}]`
      return sql`(${selectPage(p, { source, conditions: [...given, hasValue], direction })})`
    })
    return sql`SELECT f.* FROM (${sql.join(pages, sql` UNION ALL `)}) f ORDER BY f.id ${direction} LIMIT ${p.limit}`
  })
}

/** Selects a page of the rows that meet the conditions. */
function selectPage(
  p: ListColumns,
  asked: {
    readonly source: ListOfAllSource
    readonly conditions: readonly RawBuilder<unknown>[]
    readonly direction: RawBuilder<unknown>
  },
): RawBuilder<unknown> {
  const { table, columns, join = sql``, place = sql`r.id` } = asked.source
  return sql`
    SELECT ${columns} FROM ${sql.table(table)} r ${join} WHERE ${place} > ${p.above} AND ${place} < ${p.below}
    ${sql.join(
      asked.conditions.map((condition) => sql`AND ${condition}`),
      sql` `,
    )}
    ORDER BY ${place} ${asked.direction} LIMIT ${p.limit}`
}

/** Builds the query of a page of rows that meet the given conditions. */
type StatePage = (
  p: ListColumns,
  given: readonly RawBuilder<unknown>[],
  direction: RawBuilder<unknown>,
) => RawBuilder<unknown>

/**
 * Prepares one query for each combination of filters. With one query for all combinations, the generic plan would scan the whole
 * table, because any filter could be absent.
 */
function declareList<Input extends ListOfAllInput, Columns>(
  name: string,
  { filters, flags = {}, expressions }: ListOfAllSource,
  statePage: StatePage,
): (pools: Pools, input: Input) => Promise<readonly Columns[]> {
  const conditions = [
    ...filters.map((column) => compare(column, expressions)),
    ...Object.entries(flags).map(([flag, holds]) => either(flag, holds)),
  ]
  const queries = new Map<string, PreparedQuery<ListColumns, Columns>>()
  for (const given of combinations(conditions)) {
    for (const order of ['newest-first', 'oldest-first'] as const) {
      const key = keyOf(order, given)
      const direction = order === 'newest-first' ? sql`DESC` : sql`ASC`
      const query = prepareOnCoordinator<ListColumns, Columns>(`${name}_${key}`, (p) => {
        const held = given.map(({ holds }) => holds(p))
        return sql<Columns>`${statePage(p, held, direction)}`
      })
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

interface Condition {
  readonly name: string
  readonly holds: (p: ListColumns) => RawBuilder<unknown>
}

function compare(
  column: FilterColumn,
  expressions: NonNullable<ListOfAllSource['expressions']> = {},
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

/** Returns all combinations with at most one condition of each group. */
function combinations(groups: readonly (readonly Condition[])[]): readonly (readonly Condition[])[] {
  const [first, ...others] = groups
  if (first === undefined) return [[]]
  return combinations(others).flatMap((rest) => [rest, ...first.map((condition) => [condition, ...rest])])
}
