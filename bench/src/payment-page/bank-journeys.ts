import { deepEqual, equal } from 'node:assert/strict'
import { type Journey, say } from './journey.ts'
import { type Transaction, textsOf } from './stage.ts'
import {
  answerByKeyboard,
  bankFrame,
  cancelByKeyboard,
  enterCard,
  expectReceipt,
  expectRefusal,
  linkOf,
  UNASKED,
} from './steps.ts'

/** The languages of the payment page. */
export const LANGUAGES = ['en', 'da', 'de', 'sv', 'nb', 'fi', 'fr', 'es', 'it', 'nl', 'pl', 'pt'] as const

const SHOP_BANK_FRAME = 'dialog iframe:not([hidden])'

/** Journeys past the page of the bank: in each language, refused, declined, too late, by an app, in the shop of `examples/`. */
export const bankJourneys: readonly Journey[] = [
  ...LANGUAGES.map(payInLanguage),
  {
    name: 'is refused by the bank of one card, and pays with another',
    go: async (visitor) => {
      const { page, stage } = visitor
      await page.goto(linkOf(stage))
      await enterCard(page, { number: '1000 0000 0000 0007' })
      await answerByKeyboard(page, 'Approve')
      await expectRefusal(visitor, say('refusedIssuer'))
      await visitor.expectAccessible()
      await enterCard(page)
      await answerByKeyboard(page, 'Approve')
      await expectReceipt(visitor, { amount: 1_000 })
    },
  },
  {
    name: 'declines with the bank, cancels, and pays in the end',
    go: async (visitor) => {
      const { page, stage } = visitor
      await page.goto(linkOf(stage))
      await enterCard(page)
      await answerByKeyboard(page, 'Decline')
      await expectRefusal(visitor, say('refusedTds'))
      await enterCard(page)
      await cancelByKeyboard(page, say('cancel'))
      await expectRefusal(visitor, say('refusedTds'))
      await enterCard(page, { number: UNASKED })
      await expectReceipt(visitor)
    },
  },
  {
    name: 'lets the time run out',
    go: async (visitor) => {
      const { page, stage } = visitor
      await page.clock.install()
      await page.goto(linkOf(stage))
      await enterCard(page)
      await bankFrame(page)
      await stage.letChallengesAge()
      await page.clock.fastForward('10:01')
      await expectRefusal(visitor, say('refusedTds'))
      deepEqual(errorCode((await stage.transactions())[0]), 31)
    },
  },
  {
    name: 'approves in a banking app',
    go: async (visitor) => {
      const { page, stage } = visitor
      await page.goto(linkOf(stage))
      await enterCard(page, { number: '1000 0000 0004 0000' })
      await page.getByText(say('approveApp')).waitFor()
      await visitor.expectAccessible()
      await expectReceipt(visitor, { tds: 'full' })
    },
  },
  {
    name: 'buys in the shop of examples/',
    isShopping: true,
    go: async ({ page, stage, expectAccessible }) => {
      await page.goto(stage.exampleUrl)
      await expectAccessible()
      await page.getByRole('button', { name: 'Pay' }).click()
      await page.frameLocator(SHOP_BANK_FRAME).getByRole('button', { name: 'Decline' }).waitFor()
      await expectAccessible()
      await page.frameLocator(SHOP_BANK_FRAME).getByRole('button', { name: 'Decline' }).click()
      await page.getByText('Not paid: 3-D Secure failed').waitFor()
      await page.getByRole('button', { name: 'Pay' }).click()
      await page.frameLocator(SHOP_BANK_FRAME).getByRole('button', { name: 'Approve' }).click()
      await page.getByText('is paid and on its way.').waitFor()
      for (const [number, text] of [
        ['1000 0000 0001 0000', 'is paid and on its way.'],
        ['1000 0000 0004 0000', 'is paid and on its way.'],
        ['9000 0000 0000 0000', 'Not paid: Invalid card number or card not supported'],
      ] as const) {
        await page.getByLabel('Card number').fill(number)
        await page.getByRole('button', { name: 'Pay' }).click()
        await page.getByText('One moment').waitFor()
        await page.getByText(text).waitFor()
      }
    },
  },
]

/** Pays in a language by keyboard, and checks each page for barriers. */
function payInLanguage(language: (typeof LANGUAGES)[number]): Journey {
  const texts = textsOf(language)
  return {
    name: `pays in ${language}, by keyboard alone, with 3-D Secure in a frame`,
    go: async (visitor) => {
      const { page, stage } = visitor
      await page.goto(linkOf(stage, { value: '1234.5', locale: language, reference: language, text: 'Ærø & søn' }))
      equal(await page.locator('html').getAttribute('lang'), language)
      equal(await page.locator('h1').textContent(), texts.payTo?.replace('{merchant}', 'Nordhavn Coffee Roasters'))
      await visitor.expectAccessible()
      await enterCard(page)
      const bank = await bankFrame(page)
      equal(await page.locator('dialog h2').textContent(), texts.approveTitle)
      equal(await bank.locator('html').getAttribute('lang'), language)
      equal(await bank.locator('h1').textContent(), texts.bankAsks)
      equal(await bank.locator('dd').nth(1).textContent(), await page.locator('.sum').textContent())
      await visitor.expectAccessible()
      await answerByKeyboard(page, texts.approve ?? '')
      await expectReceipt(visitor, { amount: 123_450, currency: 'EUR', tds: 'full', reference: language })
      equal(await page.locator('html').getAttribute('lang'), language)
      equal(await page.locator('h1').textContent(), texts.paid)
      await visitor.expectAccessible()
    },
  }
}

function errorCode(transaction: Transaction | undefined): number | undefined {
  return transaction?.error ? transaction.error.code : undefined
}
