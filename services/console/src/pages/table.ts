import { type Html, html } from '@trestle/common/documents/html.ts'
import { attribute } from './form.ts'

/** A column of a table. */
export interface Column<Row> {
  /** Empty: the column has buttons, and is as narrow as they are. Without a button in any row it is left out. */
  readonly label: string
  readonly cell: (row: Row) => Html | string
  /**
   * `number`: at the end of its column. `gone`: left out on phones, where another page shows the value. `wide`:
   * left out on tablets too. `state`: on phones beside the first column, without its label. `bare`: on phones
   * without its label. `spare`: the same, and left out on tablets alone, whose tables lack the width. `when`: on
   * phones without its label, at the end. `created`: the same, and the list is sorted by it.
   */
  readonly kind?: 'number' | 'gone' | 'wide' | 'state' | 'bare' | 'spare' | 'when' | 'created'
}

/** Rows with what their columns show of them. */
interface Table<Row> {
  /** Names the table for screen readers. */
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  /** Whether keys of the keyboard go from row to row. */
  readonly hasKeys?: boolean
  /** Writes the head of a column. Default: its label. */
  readonly heading?: (column: Column<Row>) => Html
}

/** Writes a table that scrolls where the page is too narrow for it. */
export function table<Row>({ label, columns: all, rows, hasKeys, heading = plainHeading }: Table<Row>): Html {
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

/** The head of a column: its label, and what it holds, as in a `Column`. The column of buttons has an empty label. */
export type Head = string | Pick<Column<unknown>, 'label' | 'kind'>

/**
 * Writes a short table inside a card, whose rows are made of cells because they may come from several sources.
 * @param rows as many cells as heads; the cells of a head share its kind
 */
export function smallTable(label: string, heads: readonly Head[], rows: readonly (readonly (Html | string)[])[]): Html {
  const columns = heads.map((head, at) => ({
    ...(typeof head === 'string' ? { label: head } : head),
    cell: (cells: (typeof rows)[number]) => cells[at] ?? '',
  }))
  return table({ label, columns, rows })
}

/** The head of a column that is its label. */
export function plainHeading<Row>(column: Column<Row>): Html {
  const label = column.label === '' ? html`<span class="unseen">Actions</span>` : column.label
  return html`<th scope="col" role="columnheader"${attribute('class', classOf(column))}>${label}</th>`
}

function classOf<Row>({ kind, label }: Column<Row>): string | undefined {
  if (label === '') return 'fit'
  return kind && CLASSES[kind]
}

/** How the cells of a column look. */
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

/** The label before a value on phones, where a row has no heads above it. Undefined: the value tells what it is. */
function labelOf<Row>({ kind, label }: Column<Row>): string | undefined {
  return kind === undefined || kind === 'number' ? label : undefined
}
