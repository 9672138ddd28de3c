import { type Html, html } from '@trestle/common/documents/html.ts'
import { formatLocalMoney, type PageLocale, type TextName, type Translate, translatorOf } from '../pages/locale.ts'
import { CARD_FIELDS, type CardField, type FieldProblems, type Refusal, refusalTable } from './card-form.ts'
import { orderOfLink, type PayableLink } from './link.ts'
import { renderLinkPage, summary } from './link-pages.ts'

export interface PaymentPage {
  readonly link: PayableLink
  /** The id of this rendering of the page. One rendering can pay only once. */
  readonly pageId: string
  /** The URL of the checkout API. */
  readonly api: string
  /** The expiry as the customer typed it. The page never shows the number or the code again. */
  readonly expiry: string
  readonly problems: FieldProblems
  /** Why the previous payment was refused. */
  readonly refusal: Refusal | undefined
}

const SCRIPT_TEXTS = [
  'numberInvalid',
  'expiryInvalid',
  'expiryPast',
  'codeInvalid',
  'fieldsInvalid',
  'working',
  'connectionLost',
  'tryAgain',
  'refusedTds',
  'approveFrame',
  'approveApp',
] as const satisfies readonly TextName[]

/**
 * Returns the page on which a customer enters a card. If its script does not run, the server performs the steps instead
 * (reference: Payment page).
 */
export function paymentPage(page: PaymentPage, locale: PageLocale): string {
  const { link, pageId, api, refusal } = page
  const say = translatorOf(locale.language)
  const amount = formatLocalMoney(link.money, locale.tag)
  const problems = refusal?.field ? { [refusal.field]: refusal.text } : page.problems
  const checkout = {
    api,
    locale: locale.tag,
    order: orderOfLink(link),
    refusals: refusalTable(say),
    texts: Object.fromEntries(SCRIPT_TEXTS.map((name) => [name, say(name)])),
  }
  const fields = fieldsOf({ say, problems, expiry: page.expiry })
  return renderLinkPage(locale, {
    title: say('payTo', { merchant: link.payee.name }),
    script: '/assets/pay.js',
    styles: ['/assets/approval.css'],
    main: html`
${summary(link, locale, say)}
<form method="post" action="/pos/pay" data-checkout="${JSON.stringify(checkout)}">
<p class="alert" role="alert" id="alert">${alertText({ problems, refusal }, say)}</p>
<input type="hidden" name="link" value="${link.query}">
<input type="hidden" name="page" value="${pageId}" autocomplete="off">
<div class="fields">
${fields}
</div>
${link.recurring ? html`<p class="consent" id="consent">${say('consent', { merchant: link.payee.name })}</p>` : undefined}
<button${link.recurring ? html` aria-describedby="consent"` : undefined}>${say('pay', { amount })}</button>
<p class="safe">${LOCK} ${say('safe')}</p>
${link.payee.test ? testCards(say) : undefined}
</form>
${approvalDialog(say)}`,
  })
}

/** Returns the message above the fields of the page, or `undefined` if nothing is wrong. */
function alertText(
  { problems, refusal }: Pick<PaymentPage, 'problems' | 'refusal'>,
  say: Translate,
): string | undefined {
  if (refusal) return say(refusal.text)
  return Object.keys(problems).length > 0 ? say('fieldsInvalid') : undefined
}

/**
 * The test numbers that the page lists, with their outcomes (reference: Test numbers). Each number shows one possible outcome of
 * a payment.
 */
const TEST_CARDS = [
  ['1000 0000 0000 0000', 'testApproved'],
  ['1000 0000 0001 0000', 'testUnasked'],
  ['1000 0000 0000 0007', 'testFunds'],
  ['1000 0000 0000 0031', 'testRejected'],
] as const satisfies readonly (readonly [string, TextName])[]

function testCards(say: Translate): Html {
  return html`<details class="test-cards"><summary>${say('testCards')}</summary>
<dl>${TEST_CARDS.map(([number, effect]) => html`<dt>${number}</dt><dd>${say(effect)}</dd>`)}</dl>
<p class="hint">${say('testOthers')}</p></details>`
}

const LOCK = html`<svg viewBox="0 0 16 16" aria-hidden="true"><path d="M4 7V5a4 4 0 0 1 8 0v2h1v7H3V7zm2 0h4V5a2 2 0 0 0-4 0z"/></svg>`

interface Fields {
  readonly say: Translate
  readonly problems: Partial<Readonly<Record<CardField, TextName>>>
  readonly expiry: string
}

function fieldsOf({ say, problems, expiry }: Fields): readonly Html[] {
  const hints = { number: say('accepted'), expiry: say('expiryHint'), code: say('codeHint') }
  const attributes = {
    number: html`autocomplete="cc-number" maxlength="60"`,
    expiry: html`autocomplete="cc-exp" maxlength="20" value="${expiry}"`,
    code: html`autocomplete="cc-csc" maxlength="3"`,
  }
  const first = CARD_FIELDS.find((field) => problems[field] !== undefined) ?? 'number'
  return CARD_FIELDS.map((field) => {
    const problem = problems[field]
    return html`
<div class="field ${field}">
<label for="${field}">${say(field)}</label>
<p class="hint" id="${field}-hint">${hints[field]}</p>
<input id="${field}" name="${field}" inputmode="numeric" required ${attributes[field]}
 aria-describedby="${field}-error ${field}-hint"${problem && html` aria-invalid="true"`}${field === first ? html` autofocus` : undefined}>
<p class="error" id="${field}-error">${problem && say(problem)}</p>
</div>`
  })
}

/** The dialog in which the customer's bank asks for approval. The script opens it. A page of the bank replaces the heading. */
function approvalDialog(say: Translate): Html {
  return html`
<dialog id="approval" aria-labelledby="approval-title">
<div id="approval-app" hidden>
<h2 id="approval-title" tabindex="-1" autofocus>${say('approveTitle')}</h2>
<p role="status"></p>
<span class="waiting"></span>
</div>
<div id="approval-frame"></div>
<form method="dialog"><button class="plain">${say('cancel')}</button></form>
</dialog>`
}
