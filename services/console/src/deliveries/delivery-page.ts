import { type Html, html } from '@trestle/common/documents/html.ts'
import { z } from 'zod'
import { type Changeable, changeLinks, roleNote, type Viewer } from '../pages/asked-change.ts'
import type { ConsolePage } from '../pages/layout.ts'
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
import { transactionPath } from '../transactions/transaction-view.ts'
import {
  DELIVERIES_PATH,
  DELIVERY_TONES,
  deliveryPath,
  errorText,
  type ShownDelivery,
  transactionIdOf,
} from './delivery-view.ts'

/** The answer of payments to a replay: one more delivery. */
const Replayed = z.object({ delivery: z.looseObject({ id: z.string() }) })

/** The states of a delivery that has an outcome in a moment. */
const OPEN: ReadonlySet<string> = new Set(['waiting', 'sending'])
/** The states in which payments tries a delivery no more. */
const ENDED: ReadonlySet<string> = new Set(['delivered', 'cancelled', 'failed'])

/** The acts of operators on a delivery. */
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
          : ['This delivery goes on too, so the event may arrive twice: a receiver knows it by its id.']),
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

/** The page of a delivery: what was sent, and what the webhook has answered. */
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
