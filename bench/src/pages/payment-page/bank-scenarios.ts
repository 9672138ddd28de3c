import { deepEqual, equal } from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { english, type Transaction, textsOf } from './fixture.ts'
import type { Scenario } from './session.ts'
import {
  answerByKeyboard,
  cancelByKeyboard,
  enterCard,
  expectReceipt,
  expectRefusal,
  findBankFrame,
  linkOf,
  UNASKED,
} from './steps.ts'

export const LANGUAGES = ['en', 'da', 'de', 'sv', 'nb', 'fi', 'fr', 'es', 'it', 'nl', 'pl', 'pt'] as const

/** Scenarios after the bank's page: in each language, refused, declined, too late, by an app, in the shop of `examples/`. */
export const bankScenarios: readonly Scenario[] = [
  ...LANGUAGES.map(payInLanguage),
  {
    name: 'is refused by the bank of one card, and pays with another',
    run: async (session) => {
      const { page, fixture } = session
      await page.goto(linkOf(fixture))
      await enterCard(page, { number: '1000 0000 0000 0007' })
      await answerByKeyboard(page, 'Approve')
      await expectRefusal(session, english('refusedIssuer'))
      await session.expectAccessible()
      await enterCard(page)
      await answerByKeyboard(page, 'Approve')
      await expectReceipt(session, { amount: 1_000 })
    },
  },
  {
    name: 'declines with the bank, cancels, and pays in the end',
    run: async (session) => {
      const { page, fixture } = session
      await page.goto(linkOf(fixture))
      await enterCard(page)
      await answerByKeyboard(page, 'Decline')
      await expectRefusal(session, english('refusedTds'))
      await enterCard(page)
      await cancelByKeyboard(page, english('cancel'))
      await expectRefusal(session, english('refusedTds'))
      await enterCard(page, { number: UNASKED })
      await expectReceipt(session)
    },
  },
  {
    name: 'lets the time run out',
    run: async (session) => {
      const { page, fixture } = session
      await page.clock.install()
      await page.goto(linkOf(fixture))
      await enterCard(page)
      await findBankFrame(page)
      await fixture.letChallengesAge()
      await page.clock.fastForward('10:01')
      await expectRefusal(session, english('refusedTds'))
      deepEqual(errorCode((await fixture.transactions())[0]), 31)
    },
  },
  {
    name: 'approves in a banking app',
    run: async (session) => {
      const { page, fixture } = session
      await page.goto(linkOf(fixture))
      await enterCard(page, { number: '1000 0000 0004 0000' })
      await page
        .getByRole('status')
        .filter({ hasText: english('approveApp') })
        .waitFor()
      await page.locator('#approval-title:focus').waitFor()
      await session.expectAccessible()
      await expectReceipt(session, { tds: 'full' })
    },
  },
  {
    name: 'buys in the shop of examples/',
    isShopping: true,
    run: async (session) => {
      const { page, fixture, expectAccessible } = session
      const buy = () => page.getByRole('button', { name: 'Buy Huila' }).click()
      await page.goto(fixture.exampleUrl)
      await expectAccessible()
      await buy()
      await page.getByLabel('Email').fill('ada@shop.example')
      await page.getByLabel('Password').fill('analytical engine 1843')
      await expectAccessible()
      await page.getByRole('button', { name: 'Create an account' }).click()
      await page.getByRole('button', { name: 'Sign out' }).waitFor()
      await buy()
      await enterCard(page)
      await answerByKeyboard(page, 'Decline')
      await expectRefusal(session, english('refusedTds'))
      await page.goto(fixture.exampleUrl)
      // Payments reports the decline to the shop by a webhook.
      await reloadUntil(page, 'Payment declined, and nothing was charged')
      await expectAccessible()
      await page.getByRole('button', { name: 'Pay Huila' }).click()
      await enterCard(page)
      await answerByKeyboard(page, 'Approve')
      await page.locator('#leave').click()
      await page.getByText('Paid, and on its way').waitFor()
      await expectAccessible()
      await page.getByRole('button', { name: 'Return Huila' }).click()
      await page.getByText('Returned, and refunded').waitFor()
      await expectAccessible()
    },
  },
]

const RELOADS_MAX = 50

/** Reloads the page until it shows a text. @throws Error if it never does */
async function reloadUntil(page: Page, text: string): Promise<void> {
  for (let reloads = 0; reloads < RELOADS_MAX; reloads++) {
    if (await page.getByText(text).isVisible()) return
    await page.reload()
  }
  throw new Error(`the page does not show: ${text}`)
}

function payInLanguage(language: (typeof LANGUAGES)[number]): Scenario {
  const texts = textsOf(language)
  return {
    name: `pays in ${language}, by keyboard alone, with 3-D Secure in a frame`,
    run: async (session) => {
      const { page, fixture } = session
      await page.goto(linkOf(fixture, { value: '1234.5', locale: language, reference: language, text: 'Ærø & søn' }))
      equal(await page.locator('html').getAttribute('lang'), language)
      equal(await page.locator('h1').textContent(), texts.payTo?.replace('{merchant}', 'Nordhavn Coffee Roasters'))
      await session.expectAccessible()
      await enterCard(page)
      const bank = await findBankFrame(page)
      equal(await page.locator('dialog h2').textContent(), texts.approveTitle)
      equal(await bank.locator('html').getAttribute('lang'), language)
      equal(await bank.locator('h1').textContent(), texts.bankAsks)
      equal(await bank.locator('.sum').textContent(), await page.locator('.sum').textContent())
      await session.expectAccessible()
      await answerByKeyboard(page, texts.approve ?? '')
      await expectReceipt(session, { amount: 123_450, currency: 'EUR', tds: 'full', reference: language })
      equal(await page.locator('html').getAttribute('lang'), language)
      equal(await page.locator('h1').textContent(), texts.paid)
      await session.expectAccessible()
    },
  }
}

function errorCode(transaction: Transaction | undefined): number | undefined {
  return transaction?.error ? transaction.error.code : undefined
}
