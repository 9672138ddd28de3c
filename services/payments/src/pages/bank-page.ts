import type { ChallengeState } from '../checkout/frame-state.ts'
import type { OpenChallenge } from '../checkout/session-repository.ts'
import type { Money } from '../money/minor-units.ts'
import { type Html, html } from './html.ts'
import { formatLocalMoney } from './local-money.ts'
import { type Page, renderPage } from './page.ts'

const LANGUAGE = 'en'

interface Shown {
  readonly state: ChallengeState
  readonly challenge: OpenChallenge
  /** The locale of the amount. */
  readonly locale: string
  /** The sealed state of the challenge, which the form sends back. */
  readonly text: string
}

/** The page on which a customer approves or declines a payment. It needs no script (reference: Simulated bank). */
export function bankPage({ state, challenge, locale, text }: Shown): string {
  const facts: readonly (readonly [string, string])[] = [
    ['Shop', challenge.merchant],
    ['Amount', amountOf(state.money, locale)],
    ['Card', `•••• ${state.last4}`],
  ]
  return page(
    'Approve the payment?',
    html`
<p class="notice">This bank is simulated: no money moves.</p>
<h1>Approve the payment?</h1>
<dl>${facts.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>
<form method="post" action="/acs/challenge" class="actions">
<input type="hidden" name="state" value="${text}">
<button name="decision" value="approve">Approve</button>
<button name="decision" value="decline" class="quiet">Decline</button>
</form>`,
  )
}

/** A card that is only verified pays nothing. */
function amountOf(money: Money, locale: string): string {
  return money.amount === 0 ? 'Nothing now' : formatLocalMoney(money, locale)
}

/** Tells the page of the shop that a step is done. Customers see this page for a moment, or when no script runs. */
export function concludingPage(hints: readonly string[], origin: string): string {
  const main = html`
<h1>Done</h1>
<p data-hints="${JSON.stringify(hints)}" data-origin="${origin}">You can go back to the shop.</p>`
  return page('Done', main, '/assets/conclude.js')
}

/** The frame of a bank that does not answer. */
export function silentPage(): string {
  return page('No answer', html`<p>This bank does not answer.</p>`)
}

/** The customer has answered too late. The page leads back to the shop. */
export function latePage(returnUrl: string | null): string {
  return page(
    'Too late',
    html`
<h1>It is too late to approve this payment</h1>
${returnUrl === null ? html`<p>Go back to the shop and begin again.</p>` : linkBack(returnUrl)}`,
  )
}

/**
 * The customer has answered, and returns to the shop by a link that names its host. Anybody can make this page name any
 * host, so it does not redirect by itself.
 */
export function returnPage(returnUrl: string): string {
  return page('Done', html`<h1>Done</h1>${linkBack(returnUrl)}`)
}

/** The page was opened without a state that it knows. */
export function lostPage(): string {
  return page(
    'Unknown payment',
    html`
<h1>This payment is not known here</h1>
<p>Its link is incomplete or too old. Go back to the shop and begin again.</p>`,
  )
}

function linkBack(returnUrl: string): Html {
  return html`
<p>The shop is at ${new URL(returnUrl).host}. This service is for tests, and does not know who runs it.</p>
<p><a href="${returnUrl}">Return to the shop</a></p>`
}

function page(title: string, main: Html, script?: Page['script']): string {
  return renderPage({ title, language: LANGUAGE, main, script })
}
