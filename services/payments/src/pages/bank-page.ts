import { type Html, html } from '@trestle/common/documents/html.ts'
import type { ChallengeState } from '../checkout/challenge.ts'
import type { OpenChallenge } from '../checkout/session-repository.ts'
import { formatLocalMoney, type PageLocale, type TextName, translatorOf } from './locale.ts'
import { factList, type Page, renderPage, sumOf } from './page.ts'

interface Shown {
  readonly state: ChallengeState
  readonly challenge: OpenChallenge
  /** The encrypted state of the challenge. The form sends it back. */
  readonly text: string
}

/** Returns the page on which a customer approves or declines a payment. The page needs no script (reference: Simulated bank). */
export function bankPage({ state, challenge, text }: Shown, locale: PageLocale): string {
  const say = translatorOf(locale.language)
  // The verification of a card has no amount.
  const amount = state.money.amount === 0 ? say('nothingNow') : formatLocalMoney(state.money, locale.tag)
  const facts: readonly (readonly [TextName, string])[] = [
    ['shop', challenge.merchant],
    ['card', `•••• ${state.last4}`],
  ]
  return page(locale, {
    title: say('bankAsks'),
    main: html`
<p class="notice">${say('bankSimulated')}</p>
<h1>${say('bankAsks')}</h1>
${sumOf(amount)}
${factList(facts, say)}
<form method="post" action="/acs/challenge" class="actions">
<input type="hidden" name="state" value="${text}">
<button name="decision" value="approve">${say('approve')}</button>
<button name="decision" value="decline" class="quiet">${say('decline')}</button>
</form>`,
  })
}

/** The page that reports the end of a step to the shop's page. Customers see it briefly, or longer without scripts. */
export function concludingPage(hints: readonly string[], origin: string, locale: PageLocale): string {
  const say = translatorOf(locale.language)
  return page(locale, {
    title: say('bankDone'),
    script: '/assets/conclude.js',
    main: html`
<h1>${say('bankDone')}</h1>
<p data-hints="${JSON.stringify(hints)}" data-origin="${origin}">${say('bankBack')}</p>`,
  })
}

/** Returns the frame of a bank that does not answer. */
export function silentPage(locale: PageLocale): string {
  const silent = translatorOf(locale.language)('bankSilent')
  return page(locale, { title: silent, main: html`<p>${silent}</p>` })
}

/** Returns the page for a customer who has answered too late. It links back to the shop. */
export function latePage(returnUrl: string | null, locale: PageLocale): string {
  const say = translatorOf(locale.language)
  return page(locale, {
    title: say('bankLate'),
    main: html`
<h1>${say('bankLate')}</h1>
${returnUrl === null ? html`<p>${say('bankAgain')}</p>` : linkBack(returnUrl, locale)}`,
  })
}

/**
 * Returns the page for a customer who has answered. It contains a link back to the shop, and the link shows the host. The page
 * does not redirect automatically, because an attacker can make it link to any host.
 */
export function returnPage(returnUrl: string, locale: PageLocale): string {
  const done = translatorOf(locale.language)('bankDone')
  return page(locale, { title: done, main: html`<h1>${done}</h1>${linkBack(returnUrl, locale)}` })
}

/** Returns the page for a browser that sends no valid encrypted state. */
export function lostPage(locale: PageLocale): string {
  const say = translatorOf(locale.language)
  return page(locale, {
    title: say('bankLost'),
    main: html`
<h1>${say('bankLost')}</h1>
<p>${say('bankLostWhy')} ${say('bankAgain')}</p>`,
  })
}

function linkBack(returnUrl: string, { language }: PageLocale): Html {
  const say = translatorOf(language)
  return html`
<p>${say('bankHost', { host: new URL(returnUrl).host })}</p>
<p class="actions"><a class="button" href="${returnUrl}">${say('returnLink')}</a></p>`
}

/** The bank's page uses the style of the payment page, which shows it in a frame. */
function page({ language }: PageLocale, content: Omit<Page, 'language' | 'styles'>): string {
  return renderPage({ ...content, language, styles: ['/assets/pay.css', '/assets/bank.css'] })
}
