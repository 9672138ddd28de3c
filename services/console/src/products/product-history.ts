import { type Html, html } from '@trestle/common/documents/html.ts'
import type { z } from 'zod'
import type { ConsolePage } from '../pages/layout.ts'
import { type ListQuery, listCard } from '../pages/list.ts'
import { emptyState, pageHead, time } from '../pages/parts.ts'
import type { Column } from '../pages/table.ts'
import type { Listed } from '../service-calls/operator-calls.ts'
import { prettyJson } from './attribute-form.ts'
import { type AuditEntry, type Product, productPath } from './product-view.ts'

const WORDS: Readonly<Record<string, string>> = {
  'products.change': 'Changed',
  'products.delete': 'Deleted',
  'products.import': 'Imported',
  'stock.receive': 'Received stock',
  'stock.count': 'Counted stock',
  'stock.transfer': 'Moved stock',
  'stock.ship': 'Shipped stock',
  'stock.adjust': 'Adjusted stock',
  'reservations.release': 'Released a reservation',
}

/** The act of a change, in words. The first change of a product has no version: it was created. */
function wordsOf({ action, changes }: AuditEntry): string {
  const { version } = changes
  if (action === 'products.change') return version === undefined ? 'Created' : `Changed to version ${String(version)}`
  return WORDS[action] ?? action
}

/**
 * A list of what operators have changed, each with its time and who did it. The newest comes first, as in the answer of
 * inventory.
 */
export function changeList(history: readonly AuditEntry[]): Html {
  return html`<ol class="timeline">${history.map(
    (entry) =>
      html`<li><div>${wordsOf(entry)}</div><div class="hint">${time(entry.created)} · ${entry.actor.email}</div></li>`,
  )}</ol>`
}

const COLUMNS: readonly Column<AuditEntry>[] = [
  { label: 'Change', cell: (entry) => html`<strong>${wordsOf(entry)}</strong>` },
  { label: 'By', cell: ({ actor, role }) => html`${actor.email} <span class="soft">${role}</span>` },
  { label: 'At', kind: 'created', cell: ({ created }) => time(created) },
  {
    label: 'Details',
    cell: ({ changes }) =>
      html`<details><summary>Show</summary><pre tabindex="0">${prettyJson(changes)}</pre></details>`,
  },
]

/** Everything that operators have changed of a product and its stock. */
export function productHistoryPage(
  { id, sku }: Product,
  query: z.infer<typeof ListQuery>,
  { value, next }: Listed<readonly AuditEntry[]>,
): ConsolePage {
  const title = `History of ${sku}`
  return {
    title,
    section: 'products',
    main: html`${pageHead({ title, above: { label: sku, path: productPath(id) } })}
${listCard({
  label: title,
  path: `${productPath(id)}/history`,
  columns: COLUMNS,
  rows: value,
  next,
  query: { ...query },
  empty: emptyState('audit', 'No operator has changed this product or its stock.'),
})}`,
  }
}
