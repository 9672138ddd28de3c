import { type Html, html } from '@trestle/common/documents/html.ts'
import { z } from 'zod'
import { type Changeable, changeLinks, roleNote, type Viewer } from '../pages/asked-change.ts'
import type { ConsolePage } from '../pages/layout.ts'
import { type Column, filterForm, ListQuery, listCard, MerchantId } from '../pages/list.ts'
import {
  badge,
  card,
  copyableId,
  emptyState,
  factList,
  jsonText,
  merchantLink,
  pageHead,
  polled,
  time,
} from '../pages/parts.ts'
import type { Listed } from '../service-calls/operator-calls.ts'
import { transactionPath } from '../transactions/transaction-view.ts'

/** The statuses in the order of a delivery's life. */
export const DELIVERY_STATUSES = ['waiting', 'sending', 'retrying', 'delivered', 'cancelled', 'failed'] as const

const Delivery = z.looseObject({
  id: z.string(),
  merchantId: z.string(),
  webhookId: z.string(),
  eventId: z.string(),
  type: z.string().optional(),
  status: z.enum(DELIVERY_STATUSES),
  attempts: z.int(),
  created: z.string(),
  error: z.string().optional(),
})
/** A delivery of an event to a webhook (console reference: Routes of payments). */
type Delivery = z.infer<typeof Delivery>
export const DeliveriesView = z.object({ deliveries: z.array(Delivery) })

/** A delivery with its event and its attempts (console reference: Delivery of operators). */
export const ShownDelivery = z.object({
  delivery: Delivery,
  webhook: z.looseObject({ url: z.string() }).optional(),
  event: z.unknown().optional(),
  attempts: z.array(
    z.looseObject({
      at: z.string(),
      status: z.int().optional(),
      error: z.string().optional(),
      answer: z.string().optional(),
    }),
  ),
})
export type ShownDelivery = z.infer<typeof ShownDelivery>

const About = z.looseObject({ transactionId: z.string() })
const PaymentEvent = z.union([
  z
    .looseObject({ data: z.looseObject({ transaction: z.looseObject({ id: z.string() }) }) })
    .transform(({ data }) => data.transaction.id),
  z.looseObject({ data: z.looseObject({ dispute: About }) }).transform(({ data }) => data.dispute.transactionId),
  z.looseObject({ data: z.looseObject({ fraud: About }) }).transform(({ data }) => data.fraud.transactionId),
])

/** Returns the transaction of an event, a dispute or a fraud alert, or `undefined` if there is none. */
export function transactionIdOf({ event }: Pick<ShownDelivery, 'event'>): string | undefined {
  return PaymentEvent.safeParse(event).data
}

/** Explanations of Node.js error codes for operators, who do not run the webhook. */
const ERROR_WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'The connection was refused: nothing listens at the address',
  ECONNRESET: 'The connection was cut before there was an answer',
  EHOSTUNREACH: 'No way leads to the address',
  ENETUNREACH: 'No way leads to the address',
  ENOTFOUND: 'The name of the address is not known',
  EAI_AGAIN: 'The name of the address could not be looked up',
  EPIPE: 'The connection was cut while the event was sent',
  ETIMEOUT: 'The name servers of the address did not answer in time',
  ETIMEDOUT: 'The connection was not made in time',
  CERT_HAS_EXPIRED: 'The certificate of the address has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'The certificate of the address is signed by itself',
  ERR_TLS_CERT_ALTNAME_INVALID: 'The certificate is of another name than the address',
}

/** Returns the reason of a failed attempt. A code of payments gets an explanation before it. */
export function errorText(error: string): string {
  const words = ERROR_WORDS[error]
  return words === undefined ? error : `${words} (${error})`
}

const DELIVERY_TONES = {
  waiting: 'info',
  sending: 'info',
  retrying: 'warn',
  delivered: 'good',
  cancelled: 'plain',
  failed: 'bad',
} as const satisfies Record<Delivery['status'], string>

const DELIVERIES_PATH = '/deliveries'

function deliveryPath(id: string): string {
  return `${DELIVERIES_PATH}/${encodeURIComponent(id)}`
}

/** The answer of payments to a replay: a new delivery. */
const Replayed = z.object({ delivery: z.looseObject({ id: z.string() }) })

/** The states of a delivery that is about to have an outcome. */
const OPEN: ReadonlySet<string> = new Set(['waiting', 'sending'])
/** The states of a delivery without further attempts. */
const ENDED: ReadonlySet<string> = new Set(['delivered', 'cancelled', 'failed'])

export const deliveryChanges: Changeable<ShownDelivery> = {
  service: 'payments',
  section: 'deliveries',
  pathOf: ({ delivery }) => deliveryPath(delivery.id),
  changes: [
    {
      name: 'replay',
      action: 'deliveries.replay',
      label: 'Send again',
      title: ({ delivery }) => `Send ${delivery.type ?? 'the event'} again`,
      isOffered: ({ webhook, event }) => webhook !== undefined && event !== undefined,
      consequences: ({ webhook, delivery: { status } }) => [
        `The same event goes to ${webhook?.url ?? 'its webhook'} once more, as a delivery of its own.`,
        ...(ENDED.has(status)
          ? []
          : ['This delivery continues too, so the event may arrive twice: a receiver recognizes it by its id.']),
        'If the webhook was disabled, it is enabled again.',
      ],
      reliesOn: ({ webhook }) => ({ url: webhook?.url ?? '' }),
      call: ({ delivery }) => ({
        method: 'POST',
        path: `/operator/deliveries/${encodeURIComponent(delivery.id)}/replay`,
      }),
      answer: Replayed,
      done: 'The event is on its way again',
      leadsTo: (_shown, _given, answer) => deliveryPath(Replayed.parse(answer).delivery.id),
    },
  ],
}

/** Shows the sent event and the answers of the webhook. */
export function deliveryPage(shown: ShownDelivery, viewer: Viewer): ConsolePage {
  const { delivery } = shown
  const title = delivery.type ?? 'Delivery'
  return {
    title,
    section: 'deliveries',
    main: html`<div id="delivery"${OPEN.has(delivery.status) ? polled('delivery', deliveryPath(delivery.id)) : undefined}>${pageHead(
      {
        title,
        above: { label: 'Deliveries', path: DELIVERIES_PATH },
        badges: [badge(delivery.status, DELIVERY_TONES[delivery.status])],
        facts: [copyableId(delivery.id), html`<span>${time(delivery.created)}</span>`],
        actions: changeLinks(deliveryChanges, shown, viewer),
        note: roleNote(deliveryChanges, shown, viewer),
      },
    )}
<div class="stack"><div class="grid split"><div class="stack">
${attemptsCard(shown)}
</div><div class="stack">
${detailsCard(shown)}
</div></div>
${eventCard(shown)}
</div></div>`,
  }
}

function attemptsCard({ attempts }: ShownDelivery): Html {
  if (attempts.length === 0) return card('Attempts', emptyState('deliveries', 'It was not tried yet.'))
  return card(
    'Attempts',
    html`<ol class="card-body timeline">${attempts.map(
      ({ at, status, error, answer }) =>
        html`<li><strong>${status ?? 'No answer'}</strong> <span class="soft">${time(at)}</span>${error === undefined ? undefined : html`<p class="hint">${errorText(error)}</p>`}${answer === undefined || answer === '' ? undefined : html`<details><summary>Answer</summary><pre tabindex="0">${answer}</pre></details>`}</li>`,
    )}</ol>`,
  )
}

function eventCard({ event }: ShownDelivery): Html {
  if (event === undefined) return card('Event', emptyState('deliveries', 'Events are kept for 30 days.'))
  return card('Event', html`<div class="card-body"><pre tabindex="0">${jsonText(event)}</pre></div>`)
}

function detailsCard(shown: ShownDelivery): Html {
  const { delivery, webhook } = shown
  const transactionId = transactionIdOf(shown)
  const { merchantId, webhookId, eventId, error } = delivery
  const ofWebhook = `${DELIVERIES_PATH}?${new URLSearchParams({ webhook: webhookId })}`
  return card(
    'Details',
    html`<div class="card-body">${factList([
      ['Address', webhook?.url ?? 'The webhook is deleted'],
      ['Last error', error && errorText(error)],
      ['Payment', transactionId && html`<a href="${transactionPath(transactionId)}"><code>${transactionId}</code></a>`],
      ['Webhook', html`<a href="${ofWebhook}"><code>${webhookId}</code></a>`],
      ['Event', copyableId(eventId)],
      ['Merchant', merchantLink(merchantId)],
    ])}</div>`,
  )
}

export const DeliveriesQuery = ListQuery.extend({
  merchant: MerchantId,
  webhook: MerchantId,
  status: z.enum(['', ...DELIVERY_STATUSES]).optional(),
})

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
