import type { Journey } from './journey.ts'

const dialogFrame = 'dialog iframe:not([hidden])'

/** Journeys through the shop of `examples/`, whose own client pays. */
export const shopJourneys: readonly Journey[] = [
  {
    name: 'buys in the shop of examples/',
    isShopping: true,
    go: async ({ page, stage, expectAccessible }) => {
      await page.goto(stage.exampleUrl)
      await expectAccessible()
      await page.getByRole('button', { name: 'Pay' }).click()
      await page.frameLocator(dialogFrame).getByRole('button', { name: 'Decline' }).waitFor()
      await expectAccessible()
      await page.frameLocator(dialogFrame).getByRole('button', { name: 'Decline' }).click()
      await page.getByText('Not paid: 3-D Secure failed').waitFor()
      await page.getByRole('button', { name: 'Pay' }).click()
      await page.frameLocator(dialogFrame).getByRole('button', { name: 'Approve' }).click()
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
