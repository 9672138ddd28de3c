import { type Html, html } from '@trestle/common/documents/html.ts'
import { mayDo, type OperatorRole } from '@trestle/service/operators/operator-roles.ts'
import { changeForm, type FormProof } from '../pages/form.ts'
import type { ConsolePage } from '../pages/layout.ts'
import {
  askLink,
  badge,
  card,
  copyableId,
  emptyState,
  factList,
  money,
  pageHead,
  questionOf,
  time,
} from '../pages/parts.ts'
import { merchantPath, type ShownMerchant } from './merchant-view.ts'

/** The page of a merchant. */
export function merchantPage(shown: ShownMerchant, role: OperatorRole): ConsolePage {
  const { merchant } = shown
  const { id, name, test, created, website } = merchant
  return {
    title: name ?? id,
    section: 'merchants',
    main: html`${pageHead({
      title: name ?? id,
      above: { label: 'Merchants', path: '/merchants' },
      badges: test ? [badge('Test')] : [badge('Live', 'good')],
      facts: [copyableId(id), html`<span>${website}</span>`, html`<span>since ${time(created)}</span>`],
    })}
<div class="grid split"><div class="stack">
${balanceCard(shown)}
${appsCard(shown, role)}
${membersCard(shown)}
</div><div class="stack">
${detailsCard(shown)}
${webhooksCard(shown)}
</div></div>`,
  }
}

function balanceCard({ merchant, available, reserve }: ShownMerchant): Html {
  const { balance, currency } = merchant
  const stats = [
    ['Balance', balance],
    ['Available for a payout', available],
    ['Kept for open disputes', reserve],
  ] as const
  return html`<section class="card" aria-label="Balance"><dl class="stats">${stats.map(
    ([label, amount]) => html`<div class="stat"><dt>${label}</dt><dd>${money(amount, currency)}</dd></div>`,
  )}</dl></section>`
}

function detailsCard({ merchant, acquirer }: ShownMerchant): Html {
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
      ['Fee', `${(pricing.rate / 100).toFixed(2)} % + ${money(pricing.flat.amount, pricing.flat.currency)}`],
      ['Fee of a dispute', money(pricing.dispute.amount, pricing.dispute.currency)],
      ['3-D Secure', tds.mode],
      ['Acquirer', acquirer ?? 'simulator'],
      ['May not', refused.map(wordsOf).join(', ')],
    ])}</div>`,
  )
}

function wordsOf(name: string): string {
  return { chargecard: 'charge cards', savecard: 'keep cards', transfertocard: 'pay out to cards' }[name] ?? name
}

function appsCard({ merchant, apps }: ShownMerchant, role: OperatorRole): Html {
  if (apps.length === 0) return card('Apps', emptyState('settings', 'No app has access.'))
  const mayRevoke = mayDo(role, 'apps.revoke-keys')
  const rows = apps.map(
    ({ id, name }) =>
      html`<tr><th scope="row">${name ?? 'without a name'}</th><td class="narrow-gone">${copyableId(id)}</td><td class="fit">${mayRevoke ? askLink(revokePath(merchant.id, id), 'Revoke keys…', 'danger') : undefined}</td></tr>`,
  )
  return card('Apps', tableOf('Apps', ['Name', 'Id', ''], rows))
}

function membersCard({ users }: ShownMerchant): Html {
  if (users.length === 0) return card('Users', emptyState('users', 'No user has access.'))
  const rows = users.map(
    ({ email, id }) =>
      html`<tr><td>${email ?? '–'}</td><td class="narrow-gone">${id === undefined ? '–' : html`<code>${id}</code>`}</td></tr>`,
  )
  return card('Users', tableOf('Users', ['Email', 'Id'], rows))
}

function webhooksCard({ webhooks }: ShownMerchant): Html {
  if (webhooks.length === 0) return card('Webhooks', emptyState('deliveries', 'Events are sent nowhere.'))
  return card(
    'Webhooks',
    html`<ul class="card-body stack">${webhooks.map(({ id, url }) => html`<li><div>${url}</div>${copyableId(id)}</li>`)}</ul>`,
  )
}

function tableOf(label: string, columns: readonly string[], rows: readonly Html[]): Html {
  const heads = columns.map(
    (column) =>
      html`<th scope="col"${column === 'Id' ? html` class="narrow-gone"` : undefined}>${column === '' ? html`<span class="unseen">Actions</span>` : column}</th>`,
  )
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${label}"><table><thead><tr>${heads}</tr></thead><tbody>${rows}</tbody></table></div>`
}

function revokePath(merchantId: string, appId: string): string {
  return `${merchantPath(merchantId)}/apps/${encodeURIComponent(appId)}/keys`
}

/** The question before all keys of an app are revoked. */
export function revokeKeysPage(
  { merchant, apps }: ShownMerchant,
  { appId, proof, problem }: { readonly appId: string; readonly proof: FormProof; readonly problem?: string },
): ConsolePage {
  const name = apps.find(({ id }) => id === appId)?.name ?? appId
  const title = `Revoke all keys of ${name}`
  return {
    title,
    section: 'merchants',
    main: questionOf({
      title,
      problem,
      consequences: [
        `Every API key of ${name} stops working at once, for all merchants that the app serves.`,
        `Payments of ${merchant.name ?? merchant.id} through this app fail until it has a new key.`,
        'This cannot be undone.',
      ],
      form: changeForm({
        action: revokePath(merchant.id, appId),
        proof,
        submit: 'Revoke keys',
        isDangerous: true,
        cancel: merchantPath(merchant.id),
      }),
    }),
  }
}
