import { type Html, html } from '@trestle/common/documents/html.ts'
import { changeLinks, roleNote, type Viewer } from '../pages/asked-change.ts'
import type { ConsolePage } from '../pages/layout.ts'
import { money, type WithDecimals } from '../pages/money.ts'
import { badge, card, copyableId, factList, merchantLink, pageHead, type Tone, time } from '../pages/parts.ts'
import { payoutChanges } from './payout-changes.ts'
import { PAYOUTS_PATH, type Payout } from './payout-view.ts'

/** How a state of a payout looks, and what it means. */
const STATES = {
  created: ['Waiting', 'info', 'waits for the next file for the bank'],
  exported: ['At the bank', 'warn', 'stands in a file for the bank, and no outcome is recorded yet'],
  settled: ['Settled', 'good', 'is on the account of the merchant'],
  failed: ['Failed', 'bad', 'went back to the balance of the merchant'],
} as const satisfies Record<Payout['status'], readonly [label: string, tone: Tone, money: string]>

/** The page of a payout: where its money is, and what the bank made of it. */
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

/** The badges of a payout: its state, and whether it is one of a test merchant. */
export function payoutBadges({ status, test }: Pick<Payout, 'status' | 'test'>): readonly Html[] {
  const [label, tone] = STATES[status]
  return [badge(label, tone), ...(test ? [badge('Test')] : [])]
}
