import { type Html, html } from '@trestle/common/documents/html.ts'
import { mayDo } from '@trestle/operators/operator-roles.ts'
import { z } from 'zod'
import { changeLinks, roleNote, type Viewer } from '../pages/asked-change.ts'
import { type FormProof, hiddenField, proofFields } from '../pages/form.ts'
import type { ConsolePage } from '../pages/layout.ts'
import { type Column, filterForm, ListQuery, listCard, MerchantId } from '../pages/list.ts'
import { type Decimals, money, type WithDecimals } from '../pages/money.ts'
import {
  badge,
  card,
  copyableId,
  emptyState,
  factList,
  icon,
  merchantLink,
  pageHead,
  type Tone,
  tabs,
  time,
} from '../pages/parts.ts'
import type { Listed } from '../service-calls/operator-calls.ts'
import {
  allPayoutsChanges,
  BATCHES_PATH,
  type Batch,
  type BatchesView,
  PAYOUTS_PATH,
  type Payout,
  type PayoutsView,
  payoutChanges,
  payoutPath,
} from './payout-changes.ts'

/** The label, appearance and meaning of each payout state. */
const STATES = {
  created: ['Waiting', 'info', 'waits for the next file for the bank'],
  exported: ['At the bank', 'warn', 'stands in a file for the bank, and no outcome is recorded yet'],
  settled: ['Settled', 'good', 'is on the account of the merchant'],
  failed: ['Failed', 'bad', 'went back to the balance of the merchant'],
} as const satisfies Record<Payout['status'], readonly [label: string, tone: Tone, money: string]>

/** The page of a payout: the place of its money, and the result of the bank. */
export function payoutPage(payout: WithDecimals<Payout>, viewer: Viewer): ConsolePage {
  const { id, amount, currency, created, decimals, status, bank, lineId, merchantId } = payout
  const title = money(amount, currency, decimals)
  return {
    title: `Payout of ${title}`,
    section: 'payouts',
    main: html`${pageHead({
      title,
      above: { label: 'Payouts', path: PAYOUTS_PATH },
      badges: payoutBadges(payout),
      facts: [copyableId(id), html`<span>${time(created)}</span>`],
      actions: changeLinks(payoutChanges, payout, viewer),
      note: roleNote(payoutChanges, payout, viewer),
    })}
${card(
  'Details',
  html`<div class="card-body">${factList([
    ['Money', STATES[status][2]],
    ['IBAN', html`<code>${bank.iban}</code>`],
    ['Merchant', merchantLink(merchantId)],
    ['Line', html`<code>${lineId}</code>`],
  ])}</div>`,
)}`,
  }
}

function payoutBadges({ status, test }: Pick<Payout, 'status' | 'test'>): readonly Html[] {
  const [label, tone] = STATES[status]
  return [badge(label, tone), ...(test ? [badge('Test')] : [])]
}

export const PayoutsQuery = ListQuery.extend({
  merchant: MerchantId,
  status: z.enum(['', 'created', 'exported', 'settled', 'failed']).optional(),
})

const TABS = [
  [PAYOUTS_PATH, 'Payouts'],
  [BATCHES_PATH, 'Bank files'],
] as const

export function payoutsPage(
  query: z.infer<typeof PayoutsQuery>,
  { value, next }: Listed<WithDecimals<z.infer<typeof PayoutsView>>>,
  viewer: Viewer,
): ConsolePage {
  const { merchant, status } = query
  return {
    title: 'Payouts',
    section: 'payouts',
    main: html`${pageHead({ title: 'Payouts', actions: changeLinks(allPayoutsChanges, undefined, viewer) })}
${tabs('Payouts and bank files', TABS, PAYOUTS_PATH)}
${filterForm({
  path: PAYOUTS_PATH,
  search: merchant,
  searchName: 'merchant',
  placeholder: 'Id of a merchant',
  choices: [
    {
      name: 'status',
      label: 'State',
      value: status,
      options: [
        ['', 'All states'],
        ['created', 'Waiting'],
        ['exported', 'At the bank'],
        ['settled', 'Settled'],
        ['failed', 'Failed'],
      ],
    },
  ],
})}
${listCard({
  label: 'Payouts',
  path: PAYOUTS_PATH,
  columns: payoutColumns(viewer, value.decimals),
  rows: value.payouts,
  next,
  query: { ...query },
  hasCsv: true,
  empty: emptyState('payouts', merchant || status ? 'No payout matches.' : 'No merchant was paid out yet.'),
})}`,
  }
}

function payoutColumns(viewer: Viewer, decimals: Decimals): readonly Column<Payout>[] {
  return [
    {
      label: 'Amount',
      cell: ({ id, amount, currency }) =>
        html`<a class="main-link figure" href="${payoutPath(id)}">${money(amount, currency, decimals)}</a>`,
    },
    {
      label: 'State',
      kind: 'state',
      cell: (payout) => html`<span class="badges">${payoutBadges(payout)}</span>`,
    },
    { label: 'Merchant', cell: ({ merchantId }) => merchantLink(merchantId) },
    { label: 'IBAN', kind: 'bare', cell: ({ bank }) => html`<code>${bank.iban}</code>` },
    { label: 'Created', kind: 'created', cell: ({ created }) => time(created) },
    {
      label: '',
      cell: (payout) => html`${changeLinks(payoutChanges, { ...payout, decimals }, viewer)}`,
    },
  ]
}

/** Downloads of batch files are forms, because payments records each download in its audit log. */
export function batchesPage(
  query: z.infer<typeof ListQuery>,
  { value, next }: Listed<WithDecimals<z.infer<typeof BatchesView>>>,
  { viewer, proof }: { readonly viewer: Viewer; readonly proof: FormProof },
): ConsolePage {
  return {
    title: 'Bank files',
    section: 'payouts',
    main: html`${pageHead({ title: 'Payouts', actions: changeLinks(allPayoutsChanges, undefined, viewer) })}
${tabs('Payouts and bank files', TABS, BATCHES_PATH)}
${listCard({
  label: 'Batches of payouts',
  path: BATCHES_PATH,
  columns: batchColumns(viewer, { proof, decimals: value.decimals }),
  rows: value.batches,
  next,
  query: { ...query },
  empty: emptyState('payouts', 'No files were made for the bank yet.'),
})}`,
  }
}

function batchColumns(
  { role }: Viewer,
  { proof, decimals }: WithDecimals<{ readonly proof: FormProof }>,
): readonly Column<Batch>[] {
  return [
    { label: 'Batch', cell: ({ id }) => html`<code>${id}</code>` },
    {
      label: 'Amounts',
      cell: ({ currencies }) =>
        html`${currencies.map(({ currency, amount }) => html`<div class="figure">${money(amount, currency, decimals)}</div>`)}`,
    },
    { label: 'Payouts', kind: 'number', cell: ({ payouts }) => String(payouts) },
    { label: 'Created', kind: 'created', cell: ({ created }) => time(created) },
    {
      label: '',
      cell: (batch) => html`${mayDo(role, 'payouts.export') ? fileForms(batch, proof) : undefined}`,
    },
  ]
}

/** A button for each file of a batch. Payouts in euro have a separate file. */
function fileForms({ id, currencies }: Batch, proof: FormProof): Html {
  const kinds = new Set(currencies.map(({ currency }) => (currency === 'EUR' ? 'xml' : 'csv')))
  return html`<div class="actions">${[...kinds].map(
    (kind) =>
      html`<form method="post" action="${BATCHES_PATH}/${encodeURIComponent(id)}" data-gives>${proofFields(proof)}${hiddenField('kind', kind)}<button class="button" type="submit">${icon('download')}${kind === 'xml' ? 'pain.001' : 'CSV'}</button></form>`,
  )}</div>`
}
