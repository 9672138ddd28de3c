import { equal } from 'node:assert/strict'
import type { Journey } from './journey.ts'
import { textsOf } from './stage.ts'
import { answerByKeyboard, bankFrame, enterCard, expectReceipt, linkOf } from './steps.ts'

export const LANGUAGES = ['en', 'da', 'de', 'sv', 'nb', 'fi', 'fr', 'es', 'it', 'nl', 'pl', 'pt'] as const

/** The whole way in a language, by keyboard, and a look for barriers at each page of it. */
export function payInLanguage(language: (typeof LANGUAGES)[number]): Journey {
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
      await bankFrame(page)
      equal(await page.locator('dialog h2').textContent(), texts.approveTitle)
      await visitor.expectAccessible()
      await answerByKeyboard(page, 'Approve')
      await expectReceipt(visitor, { amount: 123_450, currency: 'EUR', tds: 'full', reference: language })
      equal(await page.locator('html').getAttribute('lang'), language)
      equal(await page.locator('h1').textContent(), texts.paid)
      await visitor.expectAccessible()
    },
  }
}
