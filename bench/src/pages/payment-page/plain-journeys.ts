import { equal } from 'node:assert/strict'
import { type Journey, say } from './journey.ts'
import { enterCard, expectReceipt, expectRefusal, linkOf, UNASKED } from './steps.ts'
import type { Visitor } from './visitor.ts'

/** Journeys of browsers that run no script. */
export const plainJourneys: readonly Journey[] = [
  {
    name: 'pays without script, through the page of the bank',
    browser: { javaScriptEnabled: false },
    go: (visitor) => payPlainly(visitor, async () => {}),
  },
  {
    name: 'can do so with assistive technology',
    go: async (visitor) => {
      await silenceScripts(visitor)
      await payPlainly(visitor, visitor.expectAccessible)
    },
  },
  {
    name: 'answers the bank too late',
    go: async (visitor) => {
      const { page, stage } = visitor
      await silenceScripts(visitor)
      await page.goto(linkOf(stage))
      await enterCard(page)
      const approve = page.getByRole('button', { name: 'Approve' })
      await approve.waitFor()
      await stage.letChallengesAge()
      await approve.press('Enter')
      await page.getByText('It is too late').waitFor()
      await visitor.expectAccessible()
      await page.getByRole('link').press('Enter')
      await expectRefusal(visitor, say('refusedTds'))
    },
  },
  {
    name: 'opens an unknown address: of a payment, of a receipt, of a challenge',
    go: async (visitor) => {
      const { page, stage } = visitor
      for (const [address, status, text] of [
        [linkOf(stage).replace('/pos?', '/pos/pay?'), 400, say('tooLong')],
        [`${stage.url}/pos/receipt?receipt=none`, 404, say('receiptUnknown')],
        [`${stage.url}/acs/challenge?state=none`, 400, 'This payment is not known here'],
      ] as const) {
        const response = await page.goto(address)
        equal(response?.status(), status)
        await page.getByText(text).waitFor()
        await visitor.expectAccessible()
      }
    },
  },
  {
    name: 'goes back after a refusal, without script, and pays with another card',
    browser: { javaScriptEnabled: false },
    go: async (visitor) => {
      const { page, stage } = visitor
      await page.goto(linkOf(stage))
      await enterCard(page, { number: '9000 0000 0000 0000' })
      await expectRefusal(visitor, say('refusedNumber'))
      await page.goBack()
      await page.getByText(say('refusedNumber')).waitFor({ state: 'detached' })
      // Without TLS, the browser has kept the content of the form.
      await page.locator('#number').fill('')
      await enterCard(page, { number: UNASKED })
      await expectReceipt(visitor)
    },
  },
  {
    name: 'enters an amount and is led back to the shop, without script',
    browser: { javaScriptEnabled: false },
    go: async ({ page, stage }) => {
      await page.goto(linkOf(stage, { value: '', redirect: stage.shopUrl }))
      await page.locator('#amount').fill('3')
      await page.keyboard.press('Enter')
      await enterCard(page, { number: UNASKED })
      await page.getByRole('link').click()
      await page.waitForURL(`${stage.shopUrl}?transactionId=**`)
      equal((await stage.transactions())[0]?.amount, 300)
    },
  },
]

/** Without scripts, axe-core cannot run either: its script is loaded and does nothing. */
async function silenceScripts({ page }: Visitor): Promise<void> {
  await page.route('**/*.js', (route) => route.fulfill({ contentType: 'text/javascript', body: '' }))
}

/** Declines, is refused, and pays with a third card, only by redirects. */
async function payPlainly(visitor: Visitor, look: () => Promise<void>): Promise<void> {
  const { page, stage } = visitor
  await page.goto(linkOf(stage, { reference: 'plain' }))
  await look()
  await enterCard(page)
  await page.getByRole('button', { name: 'Decline' }).click()
  await expectRefusal(visitor, say('refusedTds'))
  await look()
  await enterCard(page, { number: '1000 0000 0000 0007' })
  await page.getByRole('button', { name: 'Approve' }).press('Enter')
  await expectRefusal(visitor, say('refusedIssuer'))
  await enterCard(page)
  await page.getByRole('button', { name: 'Approve' }).waitFor()
  await look()
  await page.getByRole('button', { name: 'Approve' }).press('Enter')
  const { id } = await expectReceipt(visitor, { tds: 'full', reference: 'plain' })
  await look()
  await page.reload()
  equal((await expectReceipt(visitor)).id, id)
}
