import { type Html, html } from '@trestle/common/documents/html.ts'
import { currencyExponent } from '../money/currencies.ts'
import { formatLocalMoney, type PageLocale, type TextName, type Translate, translatorOf } from '../pages/locale.ts'
import { factList, type Page, renderPage, sumOf } from '../pages/page.ts'
import { type PaymentLink, redirectAfter } from './link.ts'
import { type AmountProblem, TYPED_LENGTH_MAX } from './link-amount.ts'
import type { Receipt } from './receipt.ts'

/** Renders a page of payment links in the language of the locale. */
export function renderLinkPage(locale: PageLocale, page: Omit<Page, 'language'>): string {
  return renderPage({ ...page, language: locale.language, styles: ['/assets/pay.css', ...(page.styles ?? [])] })
}

/** Returns the part above each form: the merchant, the amount and the purpose. */
export function summary(
  { payee, money, text }: Pick<PaymentLink, 'payee' | 'money' | 'text'>,
  { tag }: PageLocale,
  say: Translate,
): Html {
  return html`
<div class="summary">
${testNotice(payee, say)}
<h1>${say('payTo', { merchant: payee.name })}</h1>
${money && sumOf(formatLocalMoney(money, tag))}
${text === undefined ? undefined : html`<p dir="auto">${text}</p>`}
</div>`
}

function testNotice({ test }: { readonly test: boolean }, say: Translate): Html | undefined {
  return test ? html`<p class="notice">${say('test')}</p>` : undefined
}

/** Returns the page after a payment if the link has no redirect. */
export function receiptPage(receipt: Receipt, locale: PageLocale): string {
  const say = translatorOf(locale.language)
  const { merchant, reference, last4, transactionId, paid } = receipt
  const date = new Intl.DateTimeFormat(locale.tag, { dateStyle: 'medium', timeStyle: 'long', timeZone: 'UTC' })
  const facts: readonly (readonly [TextName, string | Html])[] = [
    ['shop', merchant],
    ['date', html`<time datetime="${paid.toISOString()}">${date.format(paid)}</time>`],
    ...(reference === null ? [] : ([['reference', reference]] as const)),
    ['card', `•••• ${last4}`],
    ['transaction', html`<code>${transactionId}</code>`],
  ]
  return renderLinkPage(locale, {
    title: say('paid'),
    script: '/assets/print.js',
    main: html`
${paidAbove('paid', receipt, locale)}
${factList(facts, say)}
<p>${say('thanks', { merchant })}</p>
<p class="actions"><button type="button" class="quiet" id="print" hidden>${say('print')}</button></p>`,
  })
}

/** Returns the upper part of a page after a payment: the confirmation, the amount and the purpose. */
function paidAbove(
  title: 'paid' | 'returnTitle',
  receipt: Pick<Receipt, 'money' | 'text' | 'test'>,
  { language, tag }: PageLocale,
): Html {
  const say = translatorOf(language)
  return html`
${testNotice(receipt, say)}
${DONE_MARK}
<h1>${say(title)}</h1>
${sumOf(formatLocalMoney(receipt.money, tag))}
${receipt.text === null ? undefined : html`<p class="order" dir="auto">${receipt.text}</p>`}`
}

const DONE_MARK = html`<svg class="done" viewBox="0 0 48 48" aria-hidden="true"><circle cx="24" cy="24" r="22"/><path d="m14 25 7 7 13-15"/></svg>`

/**
 * Returns the page that leads to the redirect of the link. The page uses a link instead of a form, because the `form-action`
 * policy would have to allow any origin. Anybody can create a test merchant. For test merchants, the page therefore does not
 * redirect by itself, and shows the host of the redirect.
 */
export function returnPage(redirect: string, receipt: Omit<Receipt, 'paid'>, locale: PageLocale): string {
  const say = translatorOf(locale.language)
  const { transactionId, merchant, test } = receipt
  const address = redirectAfter(redirect, transactionId)
  const leave = {
    script: '/assets/leave.js',
    head: html`<noscript><meta http-equiv="refresh" content="0; url=${address}"></noscript>`,
  } as const
  return renderLinkPage(locale, {
    title: say('returnTitle'),
    ...(test ? {} : leave),
    main: html`
${paidAbove('returnTitle', receipt, locale)}
${factList([['shop', merchant]], say)}
<p>${test ? say('returnTest', { host: new URL(address).host }) : say('returnText')}</p>
<p class="actions"><a class="button" id="leave" href="${address}">${say('returnLink')}</a></p>`,
  })
}

/** Returns the page that says why a link cannot be paid. */
export function problemPage(problem: TextName, locale: PageLocale): string {
  const say = translatorOf(locale.language)
  return renderLinkPage(locale, {
    title: say('problemTitle'),
    main: html`
<h1>${say('problemTitle')}</h1>
<p>${say(problem)}</p>
<p>${say('problemAdvice')}</p>`,
  })
}

/** Returns the page after any other failure. The payment may have succeeded. `again` leads back to the link. */
export function troublePage(advice: TextName, again: string | undefined, locale: PageLocale): string {
  const say = translatorOf(locale.language)
  return renderLinkPage(locale, {
    title: say('troubleTitle'),
    main: html`
<h1>${say('troubleTitle')}</h1>
<p>${say(advice)}</p>
${again === undefined ? undefined : html`<p class="actions"><a class="button" href="${again}">${say('startAgain')}</a></p>`}`,
  })
}

const PROBLEMS = { invalid: 'amountInvalid', 'too-large': 'amountTooLarge' } as const

/** Returns the page that asks the customer for the amount, if the link has none (reference: Amount page). */
export function amountPage(
  {
    link,
    typed,
    problem,
  }: { readonly link: PaymentLink; readonly typed: string; readonly problem: AmountProblem | undefined },
  locale: PageLocale,
): string {
  const say = translatorOf(locale.language)
  const { currency, payee } = link
  return renderLinkPage(locale, {
    title: `${say('amountTitle')} ${payee.name}`,
    main: html`
${summary(link, locale, say)}
<form method="post" action="/pos">
<input type="hidden" name="link" value="${link.query}">
<div class="field">
<label for="amount">${say('amountTitle')}</label>
<p class="hint" id="amount-hint">${say('amountIn', { currency })}</p>
<input id="amount" name="amount" inputmode="decimal" autocomplete="off" maxlength="${TYPED_LENGTH_MAX}" required autofocus
 value="${typed}" aria-describedby="amount-error amount-hint"${problem && html` aria-invalid="true"`}>
<p class="error" id="amount-error" role="alert">${problem && say(PROBLEMS[problem], { example: exampleOf(currency, locale) })}</p>
</div>
<button>${say('go')}</button>
</form>`,
  })
}

function exampleOf(currency: string, { tag }: PageLocale): string {
  const digits = currencyExponent(currency) ?? 0
  return new Intl.NumberFormat(tag, { minimumFractionDigits: digits }).format(25)
}
