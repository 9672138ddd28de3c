import type { Pools } from '@trestle/database/pools.ts'
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
export type ListOfAll<Columns> = (pools: Pools, input: ListOfAllInput) => Promise<readonly Columns[]>

/** As `ListOfAllInput`, with the values that the column of a list of any may have. */
export interface ListOfAnyInput extends ListOfAllInput {
  /** At most `VALUES_MAX`. */
  readonly values: readonly string[]
}

/** Reads a page of rows of all merchants that have any of some values. */
export type ListOfAny<Columns> = (pools: Pools, input: ListOfAnyInput) => Promise<readonly Columns[]>

interface ListColumns extends Omit<PageBounds, 'order'>, Readonly<Partial<Record<FilterColumn, string | undefined>>> {
  readonly values?: readonly string[]
}

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
 * database.
 */
export function listOfAll<Columns>(name: string, source: ListOfAllSource): ListOfAll<Columns> {
  return declareList<ListOfAllInput, Columns>(name, source, (p, given, direction) => {
    return selectPage(p, { source, conditions: given, direction })
  })
}

/** The most values that a list of any takes. */
export const VALUES_MAX = 30
/** The numbers of values that statements of a list of any are made for. Each value costs a cluster a read of every server. */
const VALUE_COUNTS = [1, 5, VALUES_MAX]

/**
 * As `listOfAll`, of rows whose `column` has any of some values. An index with the column has the rows of one value alone in the
 * order of the list, so each value has a page of its own in the statement, and the page of the list is the first of them.
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

/** A list of any of at most `count` values. */
function listOfCount<Columns>(
  name: string,
  declared: { readonly column: FilterColumn; readonly count: number; readonly source: ListOfAllSource },
): ListOfAny<Columns> {
  const { column, count, source } = declared
  return declareList<ListOfAnyInput, Columns>(`${name}_${count}`, source, (p, given, direction) => {
    const pages = Array.from({ length: count }, (_, index) => {
      // Behind the last value is null, which no column equals.
      const hasValue = sql`r.${sql.id(column)} = (${p.values}::text[])[${sql.lit(index + 1)}]`
      return sql`(${selectPage(p, { source, conditions: [...given, hasValue], direction })})`
    })
    return sql`SELECT f.* FROM (${sql.join(pages, sql` UNION ALL `)}) f ORDER BY f.id ${direction} LIMIT ${p.limit}`
  })
}

/** A page of the rows that meet conditions. */
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

/** States a page of the rows that meet the given conditions. */
type StatePage = (
  p: ListColumns,
  given: readonly RawBuilder<unknown>[],
  direction: RawBuilder<unknown>,
) => RawBuilder<unknown>

/**
 * There is one query for each set of filters that are given: a plan that fits all values would walk the whole table for a filter
 * that may be absent.
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

/** Something that a page may be asked for. */
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

/** All ways to ask for at most one of each group. */
function combinations(groups: readonly (readonly Condition[])[]): readonly (readonly Condition[])[] {
  const [first, ...others] = groups
  if (first === undefined) return [[]]
  return combinations(others).flatMap((rest) => [rest, ...first.map((condition) => [condition, ...rest])])
}
