import { type Html, html } from '@trestle/common/documents/html.ts'
import { mayDo, type OperatorRole } from '@trestle/operators/operator-roles.ts'
import type { z } from 'zod'
import { actionNote, type Changeable, changeLinks, type Viewer } from '../pages/asked-change.ts'
import { hiddenField } from '../pages/form.ts'
import type { ConsolePage } from '../pages/layout.ts'
import { type Column, filterForm, type ListQuery, listCard, smallTable } from '../pages/list.ts'
import { card, copyableId, count, emptyState, factList, pageHead, quietCount, time } from '../pages/parts.ts'
import { type Listed, productTag } from '../service-calls/operator-calls.ts'
import { fieldsOf, fieldText, prettyJson } from './product-form.ts'
import { type AuditEntry, type Level, type ListedProduct, movePath, type Product, productPath } from './product-view.ts'

interface ShownProduct {
  readonly product: Product
  readonly levels: readonly Level[]
  readonly history: readonly AuditEntry[]
}

export function productPage({ product, levels, history }: ShownProduct, viewer: Viewer): ConsolePage {
  const { role } = viewer
  const { id, sku, version, createdAt, updatedAt } = product
  return {
    title: sku,
    section: 'products',
    main: html`${pageHead({
      title: sku,
      above: { label: 'Products', path: '/products' },
      facts: [
        html`<span>id ${copyableId(String(id))}</span>`,
        html`<span>version ${version}</span>`,
        html`<span>created ${time(createdAt)}</span>`,
        html`<span>changed ${time(updatedAt)}</span>`,
      ],
      actions: actionsFor(product, viewer),
    })}
<div class="grid split"><div class="stack">
${attributesCard(product)}
${stockCard(product, levels, role)}
</div><div class="stack">
${historyCard(product, history)}
</div></div>`,
  }
}

function actionsFor(product: Product, viewer: Viewer): readonly Html[] {
  return [
    ...(mayDo(viewer.role, 'products.change')
      ? [html`<a class="button primary" href="${productPath(product.id)}/edit">Edit</a>`]
      : []),
    ...changeLinks(productChanges, product, viewer),
  ]
}

function attributesCard({ attributes }: Product): Html {
  const fields = fieldsOf(attributes)
  const json = html`<pre tabindex="0">${prettyJson(attributes)}</pre>`
  if (fields === undefined) return card('Attributes', html`<div class="card-body">${json}</div>`)
  if (fields.length === 0) return card('Attributes', emptyState('products', 'The product has no attributes.'))
  return card(
    'Attributes',
    html`<div class="card-body stack">${factList(fields.map(({ name, text }) => [name, text]))}
<details><summary>As JSON</summary>${json}</details></div>`,
  )
}

function stockCard({ id, stock }: Product, levels: readonly Level[], role: OperatorRole): Html {
  const links = html`<span class="actions">${
    mayDo(role, 'stock.receive')
      ? html`<a class="button" href="${movePath('receive', { productId: id })}">Move stock</a>`
      : undefined
  }<a class="button quiet" href="/movements?product=${id}">Movements</a></span>`
  const note = actionNote(role, 'stock.count', 'count or move stock')
  const hint = note === undefined ? undefined : html`<p class="card-body hint">${note}</p>`
  if (levels.length === 0) return card('Stock', emptyState('stock', 'The product was never in stock.'), links)
  const stats = [
    ['Available', stock.available],
    ['On hand', stock.onHand],
    ['Reserved', stock.reserved],
  ] as const
  return card(
    'Stock',
    html`<dl class="stats">${stats.map(([label, number]) => html`<div class="${label === 'Reserved' && number === 0 ? 'stat none' : 'stat'}"><dt>${label}</dt><dd>${count(number)}</dd></div>`)}</dl>
${levelTable(levels, role)}${hint}`,
    links,
  )
}

function levelTable(levels: readonly Level[], role: OperatorRole): Html {
  const mayCount = mayDo(role, 'stock.count')
  const numbers = ['Available', 'On hand', 'Reserved'].map((label) => ({ label, kind: 'number' as const }))
  const rows = levels.map(({ productId, locationId, location, onHand, reserved, available }) => [
    location,
    count(available),
    count(onHand),
    quietCount(reserved),
    mayCount
      ? html`<a class="button quiet" href="${movePath('count', { productId, locationId })}" aria-label="Count at ${location}">Count</a>`
      : '',
  ])
  return smallTable('Stock by location', ['Location', ...numbers, ''], rows)
}

function historyCard({ id }: Product, history: readonly AuditEntry[]): Html {
  const more = html`<a class="button quiet" href="${productPath(id)}/history">Whole history</a>`
  if (history.length === 0)
    return card('History', emptyState('audit', 'No operator has changed this product or its stock.'))
  return card('History', html`<div class="card-body">${changeList(history)}</div>`, more)
}

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

/** Describes a change. The first change of a product has no version, because it created the product. */
function wordsOf({ action, changes }: AuditEntry): string {
  const { version } = changes
  if (action === 'products.change') return version === undefined ? 'Created' : `Changed to version ${String(version)}`
  return WORDS[action] ?? action
}

/** The changes by operators with times, newest first, in the order of inventory's answer. */
function changeList(history: readonly AuditEntry[]): Html {
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

export const productChanges: Changeable<Product> = {
  service: 'inventory',
  section: 'products',
  pathOf: ({ id }) => productPath(id),
  changes: [
    {
      name: 'deletion',
      action: 'products.delete',
      label: 'Delete',
      title: ({ sku }) => `Delete ${sku}`,
      isDangerous: true,
      consequences: ({ sku }) => [
        `${sku} leaves the list, exports and the API, and its SKU becomes free.`,
        'Its movements stay in the ledger.',
        'A product with stock or an active reservation is not deleted.',
        'This cannot be undone.',
      ],
      fields: ({ version }) => hiddenField('version', version),
      call: ({ id }, { version }) => ({ method: 'DELETE', path: productPath(id), ifMatch: productTag(id, version) }),
      done: ({ sku }) => `${sku} is deleted`,
      leadsTo: () => '/products',
    },
  ],
}

const SUMMARY_FIELDS = 3
const SUMMARY_LENGTH = 80

const LIST_COLUMNS: readonly Column<ListedProduct>[] = [
  { label: 'SKU', cell: ({ id, sku }) => html`<a class="main-link" href="${productPath(id)}">${sku}</a>` },
  {
    label: 'Attributes',
    kind: 'wide',
    cell: (product) => html`<span class="summary">${summaryOf(product)}</span>`,
  },
  { label: 'Available', kind: 'number', cell: ({ stock }) => count(stock.available) },
  { label: 'On hand', kind: 'number', cell: ({ stock }) => count(stock.onHand) },
  { label: 'Created', kind: 'created', cell: ({ createdAt }) => time(createdAt) },
]

export function productsPage(
  query: z.infer<typeof ListQuery>,
  { value, next }: Listed<readonly ListedProduct[]>,
  role: OperatorRole,
): ConsolePage {
  const path = '/products'
  return {
    title: 'Products',
    section: 'products',
    main: html`${pageHead({ title: 'Products', actions: listActions(role) })}
${filterForm({ path, search: query.search, placeholder: 'SKU, or words of attributes' })}
${listCard({
  label: 'Products',
  path,
  columns: LIST_COLUMNS,
  rows: value,
  next,
  query: { ...query },
  empty: query.search
    ? emptyState('products', 'No product matches.')
    : emptyState('products', 'There is no product yet. Create one, or import a file.', [
        ...listActions(role),
        ...(mayDo(role, 'products.import') ? [html`<a class="button" href="/imports">Import a file</a>`] : []),
      ]),
})}`,
  }
}

function listActions(role: OperatorRole): readonly Html[] {
  return mayDo(role, 'products.change') ? [html`<a class="button primary" href="/products/new">New product</a>`] : []
}

/** The first attributes on one line. For long attributes, only their length. */
function summaryOf({ attributes, attributesBytes }: ListedProduct): string {
  if (attributesBytes !== undefined) return `${count(attributesBytes)} bytes`
  const fields = fieldsOf(attributes)
  const text =
    fields
      ?.slice(0, SUMMARY_FIELDS)
      .map((field) => `${field.name}: ${field.text}`)
      .join(' · ') ?? fieldText(attributes)
  return text.length > SUMMARY_LENGTH ? `${text.slice(0, SUMMARY_LENGTH)}…` : text
}
