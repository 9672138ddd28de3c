import { html } from '@trestle/common/documents/html.ts'
import { z } from 'zod'
import type { ConsolePage } from '../pages/layout.ts'
import { filterForm, ListQuery, listCard, MerchantId } from '../pages/list.ts'
import { badge, emptyState, merchantLink, pageHead, time } from '../pages/parts.ts'
import type { Column } from '../pages/table.ts'
import type { Listed } from '../service-calls/operator-calls.ts'
import {
  DELIVERIES_PATH,
  DELIVERY_STATUSES,
  DELIVERY_TONES,
  type DeliveriesView,
  type Delivery,
  deliveryPath,
  errorText,
} from './delivery-view.ts'

/** The query in the address of the list of deliveries. */
export const DeliveriesQuery = ListQuery.extend({
  merchant: MerchantId,
  webhook: MerchantId,
  status: z.enum(['', ...DELIVERY_STATUSES]).optional(),
})

/** The list of deliveries to webhooks. */
export function deliveriesPage(
  query: z.infer<typeof DeliveriesQuery>,
  { value, next }: Listed<z.infer<typeof DeliveriesView>>,
): ConsolePage {
  const { merchant, webhook, status } = query
  return {
    title: 'Deliveries',
    section: 'deliveries',
    main: html`${pageHead({ title: 'Deliveries' })}
${filterForm({
  path: DELIVERIES_PATH,
  search: merchant,
  searchName: 'merchant',
  placeholder: 'Id of a merchant',
  kept: [{ name: 'webhook', label: `Webhook ${webhook ?? ''}`, value: webhook }],
  choices: [
    {
      name: 'status',
      label: 'State',
      value: status,
      options: [['', 'All states'] as const, ...DELIVERY_STATUSES.map((each) => [each, LABELS[each]] as const)],
    },
  ],
})}
${listCard({
  label: 'Deliveries',
  path: DELIVERIES_PATH,
  columns: COLUMNS,
  rows: value.deliveries,
  next,
  query: { ...query },
  empty: emptyState(
    'deliveries',
    merchant || webhook || status ? 'No delivery matches.' : 'No event is on its way to a webhook.',
  ),
})}`,
  }
}

const LABELS = {
  waiting: 'Waiting',
  sending: 'Sending',
  retrying: 'Retrying',
  delivered: 'Delivered',
  cancelled: 'Cancelled',
  failed: 'Failed',
} as const satisfies Record<Delivery['status'], string>

const COLUMNS: readonly Column<Delivery>[] = [
  {
    label: 'Event',
    cell: ({ id, type, eventId }) =>
      html`<a class="main-link figure" href="${deliveryPath(id)}">${type ?? eventId}</a>`,
  },
  { label: 'State', kind: 'state', cell: ({ status }) => badge(status, DELIVERY_TONES[status]) },
  {
    label: 'Last error',
    cell: ({ error }) => (error === undefined ? '' : html`<span class="long">${errorText(error)}</span>`),
  },
  { label: 'Attempts', kind: 'number', cell: ({ attempts }) => String(attempts) },
  {
    label: 'Merchant',
    kind: 'wide',
    cell: ({ merchantId }) => merchantLink(merchantId),
  },
  { label: 'Created', kind: 'created', cell: ({ created }) => time(created) },
]
