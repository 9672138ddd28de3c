import { currencyExponent } from '../money/currencies.ts'
import { html } from '../pages/html.ts'
import type { PaymentLink } from './link.ts'
import { type AmountFlaw, TYPED_LENGTH_MAX } from './link-amount.ts'
import { renderLinkPage, summary } from './link-pages.ts'
import type { PageLocale } from './locale.ts'
import { speak } from './texts.ts'

const FLAWS = { invalid: 'amountInvalid', 'too-large': 'amountTooLarge' } as const

/** Asks for the amount where the link has none (reference: Amount page). */
export function amountPage(
  { link, typed, flaw }: { readonly link: PaymentLink; readonly typed: string; readonly flaw: AmountFlaw | undefined },
  locale: PageLocale,
): string {
  const say = speak(locale.language)
  const { currency, payee } = link
  return renderLinkPage(locale, {
    title: `${say('amountTitle')} ${payee.name}`,
    main: html`
${summary(link, locale, say)}
<form method="post" action="/pos">
<input type="hidden" name="link" value="${link.query}">
<div class="field">
<label for="amount">${say('amountIn', { currency })}</label>
<input id="amount" name="amount" inputmode="decimal" autocomplete="off" maxlength="${TYPED_LENGTH_MAX}" required autofocus
 value="${typed}" aria-describedby="amount-error"${flaw && html` aria-invalid="true"`}>
<p class="error" id="amount-error" role="alert">${flaw && say(FLAWS[flaw], { example: exampleOf(currency, locale) })}</p>
</div>
<button>${say('go')}</button>
</form>`,
  })
}

function exampleOf(currency: string, { tag }: PageLocale): string {
  const digits = currencyExponent(currency) ?? 0
  return new Intl.NumberFormat(tag, { minimumFractionDigits: digits }).format(25)
}
