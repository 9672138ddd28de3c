import { type Html, html } from '@trestle/common/documents/html.ts'
import { EXCEPTIONS_PATH } from '../exceptions/exception-view.ts'
import { changeLinks, roleNote, type Viewer } from '../pages/asked-change.ts'
import type { ConsolePage } from '../pages/layout.ts'
import { money } from '../pages/money.ts'
import { badge, breakable, card, copyableId, emptyState, factList, pageHead, time } from '../pages/parts.ts'
import { smallTable } from '../pages/table.ts'
import { PAYOUTS_PATH } from '../payouts/payout-view.ts'
import { DISPUTES_PATH } from '../transactions/dispute-view.ts'
import { TRANSACTIONS_PATH } from '../transactions/transaction-view.ts'
import { appChanges } from './app-changes.ts'
import { merchantChanges } from './merchant-changes.ts'
import { feeFacts } from './merchant-fees.ts'
import { linesPath, listOf, type ShownMerchant } from './merchant-view.ts'

/** The page of a merchant. */
export function merchantPage(shown: ShownMerchant, viewer: Viewer): ConsolePage {
  const { merchant } = shown
  const { id, name, test, created, website } = merchant
  return {
    title: name ?? id,
    section: 'merchants',
    main: html`${pageHead({
      title: name ?? id,
      above: { label: 'Merchants', path: '/merchants' },
      badges: test ? [badge('Test')] : [badge('Live', 'good')],
      facts: [copyableId(id), html`<span>${breakable(website)}</span>`, html`<span>since ${time(created)}</span>`],
      actions: changeLinks(merchantChanges, shown, viewer),
      note: roleNote(merchantChanges, shown, viewer),
    })}
<div class="grid split"><div class="stack">
${balanceCard(shown)}
${appsCard(shown, viewer)}
${membersCard(shown)}
</div><div class="stack">
${detailsCard(shown)}
${webhooksCard(shown)}
</div></div>`,
  }
}

function balanceCard({ merchant, available, reserve, decimals }: ShownMerchant): Html {
  const { balance, currency } = merchant
  const stats = [
    ['Balance', balance],
    ['Available for a payout', available],
    ['Kept for open disputes', reserve],
  ] as const
  return html`<section class="card" aria-label="Balance"><dl class="stats">${stats.map(
    ([label, amount]) => html`<div class="stat"><dt>${label}</dt><dd>${money(amount, currency, decimals)}</dd></div>`,
  )}</dl>${listLinks(merchant.id)}</section>`
}

/** The lists in which a merchant has rows. */
function listLinks(id: string): Html {
  const lists = [
    ['Lines', linesPath(id)],
    ['Transactions', listOf(TRANSACTIONS_PATH, id)],
    ['Disputes', listOf(DISPUTES_PATH, id)],
    ['Payouts', listOf(PAYOUTS_PATH, id)],
    ['Exceptions', listOf(EXCEPTIONS_PATH, id)],
  ] as const
  return html`<nav class="card-body actions" aria-label="Lists of the merchant">${lists.map(([label, path]) => html`<a class="button" href="${path}">${label}</a>`)}</nav>`
}

function detailsCard({ merchant, acquirer, decimals }: ShownMerchant): Html {
  const { key, email, descriptor, company, bank, pricing, tds, claim } = merchant
  const refused = Object.entries(claim).flatMap(([name, may]) => (may ? [] : [name.replace(/^can/, '').toLowerCase()]))
  return card(
    'Details',
    html`<div class="card-body">${factList([
      ['Public key', copyableId(key)],
      ['Email', email],
      ['Descriptor', descriptor],
      ['Company', [company.country, company.number].filter(Boolean).join(' ')],
      ['IBAN', bank?.iban === undefined ? 'none: no payout is made' : html`<code>${bank.iban}</code>`],
      ['Account holder', bank?.holder],
      ...feeFacts({ pricing, decimals }),
      ['3-D Secure', tds.mode],
      ['Acquirer', acquirer ?? 'simulator'],
      ['May not', refused.map(wordsOf).join(', ')],
    ])}</div>`,
  )
}

function wordsOf(name: string): string {
  return { chargecard: 'charge cards', savecard: 'keep cards', transfertocard: 'pay out to cards' }[name] ?? name
}

function appsCard({ merchant, apps }: ShownMerchant, viewer: Viewer): Html {
  if (apps.length === 0) return card('Apps', emptyState('settings', 'No app has access.'))
  const rows = apps.map((app) => [
    html`<strong>${app.name ?? 'without a name'}</strong>`,
    copyableId(app.id),
    html`${changeLinks(appChanges, { merchant, app }, viewer)}`,
  ])
  return card('Apps', smallTable('Apps', ['Name', 'Id', ''], rows))
}

function membersCard({ users }: ShownMerchant): Html {
  if (users.length === 0) return card('Users', emptyState('users', 'No user has access.'))
  const rows = users.map(({ email, id }) => [email ?? '–', id === undefined ? '–' : html`<code>${id}</code>`])
  return card('Users', smallTable('Users', ['Email', 'Id'], rows))
}

function webhooksCard({ webhooks }: ShownMerchant): Html {
  if (webhooks.length === 0) return card('Webhooks', emptyState('deliveries', 'Events are sent nowhere.'))
  return card(
    'Webhooks',
    html`<ul class="card-body stack">${webhooks.map(({ id, url }) => html`<li><div>${breakable(url)}</div><div>${copyableId(id)}</div><div><a href="/deliveries?webhook=${encodeURIComponent(id)}">Deliveries</a></div></li>`)}</ul>`,
  )
}
