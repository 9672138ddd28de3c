import { type Html, html } from '@trestle/common/documents/html.ts'
import { z } from 'zod'
import type { Query } from '../service-calls/service-call.ts'
import { attribute, hiddenField, optionsOf } from './form.ts'
import { emptyState, icon } from './parts.ts'

/** The query parameters of every list. */
export const ListQuery = z.object({
  search: z.string().trim().max(255).optional(),
  order: z.enum(['asc', 'desc']).optional(),
  cursor: z.string().max(1_024).optional(),
  /** The cursors of the previous pages, to go back. */
  before: z.string().max(6_000).optional(),
  format: z.enum(['csv']).optional(),
})
type ListQuery = z.infer<typeof ListQuery>

/** The filter by merchant: a valid id, or none. */
export const MerchantId = z
  .string()
  .trim()
  .regex(/^([0-9a-f]{24})?$/i)
  .optional()

const PAGE_ROWS = 25
const PAGES_BACK_MAX = 20

interface List<Row> {
  /** A name for screen readers. Visible if `hasHead` is set. */
  readonly label: string
  /** Whether the list has a heading, as on a page with other parts. */
  readonly hasHead?: boolean
  readonly path: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly next: string | undefined
  readonly query: ListQuery & Query
  /** The message if there are no rows. */
  readonly empty: Html
  /** Whether the query defines the list, such as the limit of low stock. It can then not be cleared. */
  readonly isFixed?: boolean
  readonly hasCsv?: boolean
}

/** Returns a list as a table with pages. The first column links to the object of the row. */
export function listCard<Row>(list: List<Row>): Html {
  const { label, hasHead, columns, rows, next, empty } = list
  const head = hasHead === true ? html`<div class="card-head"><h2>${label}</h2></div>` : undefined
  if (rows.length === 0) {
    // A search ends early if a service would have to read too many rows for one page.
    const soFar = emptyState('search', 'Nothing matches so far. The next page looks further.')
    const message = next === undefined ? empty : soFar
    return html`<div class="card" id="list">${head}${message}${wayToAll(list)}${pager(list)}</div>`
  }
  const rowsTable = table({ label, columns, rows, hasKeys: true, heading: (column) => heading(column, list) })
  return html`<div class="card" id="list">${head}${rowsTable}${pager(list)}</div>`
}

/** Returns the link from a search without results to the whole list, or `undefined` without a search. */
function wayToAll<Row>({ path, query, isFixed }: List<Row>): Html | undefined {
  const { order, cursor: _cursor, before: _before, format: _format, ...filters } = query
  const isFiltered = Object.values(filters).some((value) => value !== undefined && value !== '')
  if (!isFiltered || isFixed === true) return undefined
  return html`<p class="empty-way"><a class="button" href="${addressOf(path, { order })}">Clear the filters</a></p>`
}

function heading<Row>(column: Column<Row>, { path, query }: List<Row>): Html {
  if (column.kind !== 'created') return plainHeading(column)
  const isAscending = query.order === 'asc'
  const { cursor: _cursor, before: _before, ...others } = query
  const turned = addressOf(path, { ...others, order: isAscending ? undefined : 'asc' })
  return html`<th scope="col" role="columnheader" aria-sort="${isAscending ? 'ascending' : 'descending'}"><a href="${turned}" title="Turn the order round">${column.label} ${isAscending ? '↑' : '↓'}</a></th>`
}

function pager<Row>({ path, query, rows, next, hasCsv }: List<Row>): Html | undefined {
  const { cursor, before = '', ...others } = query
  if (cursor === undefined && next === undefined && (hasCsv !== true || rows.length === 0)) return undefined
  const earlier = before === '' ? [] : before.split(',')
  const passed = cursor === undefined ? [] : [...earlier, cursor].slice(-PAGES_BACK_MAX)
  const later = next && addressOf(path, { ...others, cursor: next, before: passed.join(',') })
  const back = addressOf(path, { ...others, cursor: earlier.at(-1), before: earlier.slice(0, -1).join(',') })
  return html`<div class="pager"><div class="pager-links">
${cursor === undefined ? undefined : html`<a class="button" href="${back}" rel="prev" data-previous>Previous</a>`}
${later === undefined ? undefined : html`<a class="button" href="${later}" rel="next" data-next>Next</a>`}</div>
${hasCsv === true ? html`<a class="button quiet" href="${addressOf(path, { ...others, format: 'csv' })}" download>${icon('download')}CSV</a>` : undefined}</div>`
}

/** Returns the address of a list with a query. `undefined` and empty values are omitted. */
function addressOf(path: string, query: Query): string {
  const given = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== '') given.set(name, String(value))
  }
  return given.size === 0 ? path : `${path}?${given}`
}

/** Returns the query for one page of a service: at most PAGE_ROWS rows after the cursor. */
export function pageQuery({ search, order, cursor }: ListQuery): Query {
  return { search, order, cursor, limit: PAGE_ROWS }
}

/** The filters above a list: a search field, and choices. With the script, the list updates while typing. */
interface Filters {
  readonly path: string
  readonly search?: string | undefined
  /** The placeholder of the search field. `undefined` if there is no search field. */
  readonly placeholder?: string
  /** The parameter of the search field: any text, the id of a merchant, or a complete action. */
  readonly searchName?: 'search' | 'merchant' | 'action'
  /** The filters from the link to this list, with their labels. Each has a link that removes it. */
  readonly kept?: readonly { readonly name: string; readonly label: string; readonly value: string | undefined }[]
  readonly choices?: readonly FilterChoice[]
}

export interface FilterChoice {
  readonly name: string
  readonly label: string
  readonly value: string | undefined
  /** Values with their labels. The first one means no filter. */
  readonly options: readonly (readonly [string, string])[]
}

export function filterForm(filters: Filters): Html {
  const { path, search, placeholder, searchName = 'search', choices = [] } = filters
  const pattern = searchName === 'merchant' ? '[0-9a-fA-F]{24}' : undefined
  return html`<form class="filters" method="get" action="${path}" hx-get="${path}" hx-target="#list" hx-select="#list" hx-swap="outerHTML" hx-push-url="true" hx-trigger="input changed delay:300ms from:#filter, change, submit">
${
  placeholder === undefined
    ? undefined
    : html`<div class="grow"><label class="unseen" for="filter">${placeholder}</label>
<input id="filter" type="search" name="${searchName}" value="${search ?? ''}" placeholder="${placeholder}" maxlength="255"${attribute('pattern', pattern)} autocomplete="off" spellcheck="false" data-search></div>`
}
${choices.map(
  ({ name, label, value, options }) =>
    html`<div><label class="unseen" for="filter-${name}">${label}</label><select id="filter-${name}" name="${name}">${optionsOf(options, value)}</select></div>`,
)}
${keptFilters(filters)}
<button class="button" type="submit">Filter</button>
</form>`
}

function keptFilters({ path, search, searchName = 'search', choices = [], kept = [] }: Filters): readonly Html[] {
  const others = Object.fromEntries([[searchName, search], ...choices.map(({ name, value }) => [name, value])])
  return kept.flatMap(({ name, label, value }) =>
    value === undefined || value === ''
      ? []
      : [
          html`<span class="kept">${hiddenField(name, value)}${label} <a href="${addressOf(path, others)}" aria-label="Take the filter away: ${label}">${icon('close')}</a></span>`,
        ],
  )
}

export interface Column<Row> {
  /** Empty for a narrow column of buttons. The column is omitted if no row has a button. */
  readonly label: string
  readonly cell: (row: Row) => Html | string
  /**
   * How the column is shown. `number`: aligned to the end. `gone`: omitted on phones, where another page shows the value. `wide`:
   * omitted on tablets too. `state`: on phones next to the first column, without its label. `bare`: on phones without its label.
   * `spare`: like `bare`, and omitted only on tablets, whose tables are too narrow. `when`: on phones without its label, at the
   * end. `created`: like `when`, and the list is sorted by it.
   */
  readonly kind?: 'number' | 'gone' | 'wide' | 'state' | 'bare' | 'spare' | 'when' | 'created'
}

interface Table<Row> {
  /** A name for screen readers. */
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  /** Whether keys move from row to row. */
  readonly hasKeys?: boolean
  /** Returns the head of a column. By default its label. */
  readonly heading?: (column: Column<Row>) => Html
}

/** Returns a table that scrolls if the page is too narrow. */
function table<Row>({ label, columns: all, rows, hasKeys, heading = plainHeading }: Table<Row>): Html {
  const columns = all.filter(
    (column) => column.label !== '' || rows.some((row) => html`${column.cell(row)}`.html !== ''),
  )
  const cells = (row: Row) =>
    columns.map(
      (column) =>
        html`<td role="cell"${attribute('class', classOf(column))}${attribute('data-label', labelOf(column))}>${column.cell(row)}</td>`,
    )
  const mark = hasKeys === true ? html` data-row` : undefined
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${label}"><table class="rows" role="table">
<thead role="rowgroup"><tr role="row">${columns.map((column) => heading(column))}</tr></thead>
<tbody role="rowgroup">${rows.map((row) => html`<tr role="row"${mark}>${cells(row)}</tr>`)}</tbody></table></div>`
}

/** The head of a column: its label and, as in `Column`, its kind. A column of buttons has an empty label. */
type Head = string | Pick<Column<unknown>, 'label' | 'kind'>

/**
 * Returns a short table inside a card. Its rows consist of cells, because they may come from several sources.
 * @param rows as many cells as heads. The cells of a column have the kind of its head
 */
export function smallTable(label: string, heads: readonly Head[], rows: readonly (readonly (Html | string)[])[]): Html {
  const columns = heads.map((head, at) => ({
    ...(typeof head === 'string' ? { label: head } : head),
    cell: (cells: (typeof rows)[number]) => cells[at] ?? '',
  }))
  return table({ label, columns, rows })
}

function plainHeading<Row>(column: Column<Row>): Html {
  const label = column.label === '' ? html`<span class="unseen">Actions</span>` : column.label
  return html`<th scope="col" role="columnheader"${attribute('class', classOf(column))}>${label}</th>`
}

function classOf<Row>({ kind, label }: Column<Row>): string | undefined {
  if (label === '') return 'fit'
  return kind && CLASSES[kind]
}

const CLASSES = {
  number: 'number',
  gone: 'narrow-gone',
  wide: 'narrow-gone wide-only',
  state: 'state',
  bare: 'bare',
  spare: 'bare wide-only',
  when: 'when',
  created: 'when',
} as const

/** Returns the label of a value on phones, where rows have no heads. `undefined` if no label is needed. */
function labelOf<Row>({ kind, label }: Column<Row>): string | undefined {
  return kind === undefined || kind === 'number' ? label : undefined
}
