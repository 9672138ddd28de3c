import { html } from '@trestle/common/documents/html.ts'
import type { OperatorRole } from '@trestle/operators/operator-roles.ts'
import type { ConsolePage } from '../pages/layout.ts'
import { filterForm, listCard } from '../pages/list.ts'
import { badge, count, emptyState, orDash, quietCount, time } from '../pages/parts.ts'
import type { Column } from '../pages/table.ts'
import { productPath } from '../products/product-view.ts'
import type { Listed } from '../service-calls/operator-calls.ts'
import { type Asked, locationChoice, stockPage } from './stock-lists.ts'
import type { Location, Movement } from './stock-view.ts'

const signed = (number: number) => (number > 0 ? `+${count(number)}` : quietCount(number))

const MOVEMENT_COLUMNS: readonly Column<Movement>[] = [
  {
    label: 'SKU',
    cell: ({ productId, sku }) => html`<a class="main-link" href="${productPath(productId)}">${sku}</a>`,
  },
  { label: 'Type', kind: 'state', cell: ({ type }) => badge(type) },
  { label: 'On hand', kind: 'number', cell: ({ onHandDelta }) => signed(onHandDelta) },
  { label: 'Reserved', kind: 'number', cell: ({ reservedDelta }) => signed(reservedDelta) },
  { label: 'After', kind: 'number', cell: ({ onHandAfter }) => count(onHandAfter) },
  { label: 'Location', cell: ({ location }) => html`<span class="long">${location}</span>` },
  {
    label: 'Reason and reference',
    kind: 'spare',
    cell: ({ reason, reference }) =>
      orDash(
        (reason || reference) && html`<span class="long">${[reason, reference].filter(Boolean).join(' · ')}</span>`,
      ),
  },
  { label: 'At', kind: 'when', cell: ({ createdAt }) => time(createdAt) },
]

const LEDGER_TYPES = ['receive', 'count', 'transfer', 'ship', 'adjust', 'reserve', 'release', 'expire'] as const

/** The ledger of stock, the newest first. */
export function movementsPage(
  query: Asked,
  { value, next }: Listed<readonly Movement[]>,
  { role, locations }: { readonly role: OperatorRole; readonly locations: readonly Location[] },
): ConsolePage {
  const path = '/movements'
  const types = LEDGER_TYPES.map((type) => [type, type] as const)
  const isFiltered = [query.search, query.location, query.type, query.product].some(Boolean)
  return stockPage({
    path,
    role,
    filters: filterForm({
      path,
      search: query.search,
      placeholder: 'Reference, whole',
      choices: [
        locationChoice(query, locations),
        { name: 'type', label: 'Type', value: query.type?.toString(), options: [['', 'All types'], ...types] },
      ],
      kept: [{ name: 'product', label: `Product ${query.product}`, value: query.product?.toString() }],
    }),
    list: listCard({
      label: 'Movements',
      path,
      columns: MOVEMENT_COLUMNS,
      rows: value,
      next,
      query: { ...query },
      empty: emptyState('stock', isFiltered ? 'No movement matches.' : 'No stock was ever moved.'),
    }),
  })
}
