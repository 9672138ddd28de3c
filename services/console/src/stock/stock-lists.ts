import { type Html, html } from '@trestle/common/documents/html.ts'
import { mayDo, type OperatorRole } from '@trestle/operators/operator-roles.ts'
import type { z } from 'zod'
import { actionNote, changeLinks, type Viewer } from '../pages/asked-change.ts'
import type { ConsolePage } from '../pages/layout.ts'
import { type Column, type FilterChoice, filterForm, type ListQuery, listCard } from '../pages/list.ts'
import { badge, count, emptyState, orDash, pageHead, quietCount, type Tone, tabs, time } from '../pages/parts.ts'
import { type Level, movePath, productPath } from '../products/product-view.ts'
import type { Listed } from '../service-calls/operator-calls.ts'
import { reservationChanges } from './stock-forms.ts'
import {
  type ListedReservation,
  type Location,
  locationPath,
  type Movement,
  type Reservation,
  STOCK_PAGES,
} from './stock-view.ts'

type Asked = z.infer<typeof ListQuery> & Readonly<Record<string, string | number | undefined>>

interface StockPage {
  readonly path: (typeof STOCK_PAGES)[number][0]
  readonly role: OperatorRole
  readonly filters?: Html
  readonly list: Html
  readonly actions?: readonly Html[]
}

/** Renders a page about stock, with links to the other pages about stock. */
function stockPage({ path, role, filters, list, actions }: StockPage): ConsolePage {
  const title = STOCK_PAGES.find(([each]) => each === path)?.[1] ?? 'Stock'
  const move = mayDo(role, 'stock.receive')
    ? [html`<a class="button primary" href="${movePath('receive')}">Move stock</a>`]
    : []
  const note = actions === undefined ? actionNote(role, 'stock.count', 'count or move stock') : undefined
  return {
    title: title === 'Levels' ? 'Stock' : title,
    section: 'stock',
    main: html`${pageHead({ title: 'Stock', actions: actions ?? move, note })}
${tabs('Stock', STOCK_PAGES, path)}
${filters}
${list}`,
  }
}

function levelColumns(role: OperatorRole): readonly Column<Level>[] {
  const columns: readonly Column<Level>[] = [
    {
      label: 'SKU',
      cell: ({ productId, sku }) => html`<a class="main-link" href="${productPath(productId)}">${sku}</a>`,
    },
    { label: 'Location', cell: ({ location }) => html`<span class="long">${location}</span>` },
    { label: 'Available', kind: 'number', cell: ({ available }) => count(available) },
    { label: 'On hand', kind: 'number', cell: ({ onHand }) => count(onHand) },
    { label: 'Reserved', kind: 'number', cell: ({ reserved }) => quietCount(reserved) },
    { label: 'Changed', kind: 'gone', cell: ({ updatedAt }) => time(updatedAt) },
  ]
  if (!mayDo(role, 'stock.count')) return columns
  const cell = ({ productId, locationId, sku, location }: Level) =>
    html`<a class="button quiet" href="${movePath('count', { productId, locationId })}" aria-label="Count ${sku} at ${location}">Count</a>`
  return [...columns, { label: '', cell }]
}

export function levelsPage(
  query: Asked,
  { value, next }: Listed<readonly Level[]>,
  { role, locations }: { readonly role: OperatorRole; readonly locations: readonly Location[] },
): ConsolePage {
  const path = '/stock'
  const isFiltered = [query.search, query.location].some(Boolean)
  return stockPage({
    path,
    role,
    filters: filterForm({
      path,
      search: query.search,
      placeholder: 'SKU, whole',
      choices: [locationChoice(query, locations)],
    }),
    list: listCard({
      label: 'Stock levels',
      path,
      columns: levelColumns(role),
      rows: value,
      next,
      query: { ...query },
      empty: emptyState('stock', isFiltered ? 'No stock matches.' : 'Nothing was ever received.'),
    }),
  })
}

function locationChoice({ location }: Asked, locations: readonly Location[]): FilterChoice {
  const options = locations.map(({ id, code }) => [String(id), code] as const)
  return {
    name: 'location',
    label: 'Location',
    value: location?.toString(),
    options: [['', 'All locations'] as const, ...options],
  }
}

/** The levels below a quantity, lowest first. */
export function lowStockPage(query: Asked, { value, next }: Listed<readonly Level[]>, role: OperatorRole): ConsolePage {
  const path = '/stock/low'
  const below = query.below ?? 10
  return stockPage({
    path,
    role,
    filters: html`<form class="filters" method="get" action="${path}"><div class="field"><label for="below">Less available than</label>
<input id="below" name="below" type="number" min="0" max="1000000000000" value="${below}" required></div><button class="button" type="submit">Show</button></form>`,
    list: listCard({
      label: 'Low stock',
      path,
      columns: levelColumns(role),
      rows: value,
      next,
      query: { ...query },
      isFixed: true,
      empty: emptyState('check', `No level has less than ${below} available.`),
    }),
  })
}

const STATUS_TONES: Readonly<Record<Reservation['status'], Tone>> = {
  active: 'info',
  committed: 'good',
  released: 'plain',
  expired: 'warn',
}

function reservationColumns(viewer: Viewer): readonly Column<ListedReservation>[] {
  return [
    {
      label: 'Product',
      cell: ({ productId, sku }) => html`<a class="main-link" href="${productPath(productId)}">${sku}</a>`,
    },
    { label: 'Location', cell: ({ location }) => html`<span class="long">${location}</span>` },
    {
      label: 'Remaining',
      kind: 'number',
      cell: ({ remaining, quantity }) => `${count(remaining)} of ${count(quantity)}`,
    },
    { label: 'State', kind: 'state', cell: ({ status }) => badge(status, STATUS_TONES[status]) },
    {
      label: 'Reference',
      cell: ({ reference }) => orDash(reference && html`<span class="long">${reference}</span>`),
    },
    { label: 'Until', cell: ({ expiresAt }) => (expiresAt === null ? 'no end' : time(expiresAt)) },
    { label: 'Id', cell: ({ id }) => html`<code>${id}</code>` },
    {
      label: '',
      cell: (reservation) => html`${changeLinks(reservationChanges, reservation, viewer)}`,
    },
  ]
}

export function reservationsPage(
  query: Asked,
  { value, next }: Listed<readonly ListedReservation[]>,
  viewer: Viewer,
): ConsolePage {
  const path = '/reservations'
  const states = Object.keys(STATUS_TONES).map((status) => [status, status] as const)
  const isFiltered = [query.search, query.status].some(Boolean)
  return stockPage({
    path,
    role: viewer.role,
    filters: filterForm({
      path,
      search: query.search,
      placeholder: 'Reference, whole',
      choices: [
        { name: 'status', label: 'State', value: query.status?.toString(), options: [['', 'All states'], ...states] },
      ],
    }),
    list: listCard({
      label: 'Reservations',
      path,
      columns: reservationColumns(viewer),
      rows: value,
      next,
      query: { ...query },
      empty: emptyState('stock', isFiltered ? 'No reservation matches.' : 'No stock is reserved.'),
    }),
  })
}

const LOCATION_COLUMNS: readonly Column<Location>[] = [
  { label: 'Code', cell: ({ id, code }) => html`<a class="main-link" href="/stock?location=${id}">${code}</a>` },
  { label: 'Name', cell: ({ name }) => html`<span class="long">${name}</span>` },
  {
    label: 'State',
    kind: 'state',
    cell: ({ active }) => (active ? badge('active', 'good') : badge('takes no stock', 'warn')),
  },
]

export function locationsPage(
  query: Asked,
  { value, next }: Listed<readonly Location[]>,
  role: OperatorRole,
): ConsolePage {
  const mayChange = mayDo(role, 'locations.change')
  const change: readonly Column<Location>[] = mayChange
    ? [
        {
          label: '',
          cell: ({ id, code }) =>
            html`<a class="button quiet" href="${locationPath(id)}" aria-label="Change ${code}">Change</a>`,
        },
      ]
    : []
  return stockPage({
    path: '/locations',
    role,
    actions: mayChange ? [html`<a class="button primary" href="/locations/new">New location</a>`] : [],
    list: listCard({
      label: 'Locations',
      path: '/locations',
      columns: [...LOCATION_COLUMNS, ...change],
      rows: value,
      next,
      query: { ...query },
      empty: emptyState('stock', 'There is no location. Create one before stock can be received.'),
    }),
  })
}

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

/** Newest first. */
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
