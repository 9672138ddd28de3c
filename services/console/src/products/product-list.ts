import { type Html, html } from '@trestle/common/documents/html.ts'
import { mayDo, type OperatorRole } from '@trestle/operators/operator-roles.ts'
import type { z } from 'zod'
import type { ConsolePage } from '../pages/layout.ts'
import { type Column, filterForm, type ListQuery, listCard } from '../pages/list.ts'
import { count, emptyState, pageHead, time } from '../pages/parts.ts'
import type { Listed } from '../service-calls/operator-calls.ts'
import { fieldsOf, fieldText } from './product-form.ts'
import { type ListedProduct, productPath } from './product-view.ts'

const SUMMARY_FIELDS = 3
const SUMMARY_LENGTH = 80

const COLUMNS: readonly Column<ListedProduct>[] = [
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
    main: html`${pageHead({ title: 'Products', actions: actionsFor(role) })}
${filterForm({ path, search: query.search, placeholder: 'SKU, or words of attributes' })}
${listCard({
  label: 'Products',
  path,
  columns: COLUMNS,
  rows: value,
  next,
  query: { ...query },
  empty: query.search
    ? emptyState('products', 'No product matches.')
    : emptyState('products', 'There is no product yet. Create one, or import a file.', [
        ...actionsFor(role),
        ...(mayDo(role, 'products.import') ? [html`<a class="button" href="/imports">Import a file</a>`] : []),
      ]),
})}`,
  }
}

function actionsFor(role: OperatorRole): readonly Html[] {
  return mayDo(role, 'products.change') ? [html`<a class="button primary" href="/products/new">New product</a>`] : []
}

/** The first attributes, on one line. For long attributes, their length. */
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
