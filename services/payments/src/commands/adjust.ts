import type { Command } from 'commander'
import { callAdjust } from '../ledger/line-repository.ts'
import { type Operator, operationCommand } from './operation.ts'

const TEXT_LENGTH_MAX = 255

/** `payments adjust <merchant> <amount> <text>`: what neither a card nor a bank does to a balance. */
export function adjustCommand(operator: Operator): Command {
  return operationCommand(operator, {
    usage: 'adjust <merchant> <amount> <text>',
    description: 'book minor units of the merchant’s currency to its balance: +100, or -100 to its loss',
    run: async ({ database }, { words: [merchantId = '', amount = '', text = ''] }) => {
      if (!/^[+-]?[1-9]\d{0,11}$/.test(amount)) throw new Error('the amount is a number of minor units, not 0')
      if (text === '' || text.length > TEXT_LENGTH_MAX) throw new Error('the text has 1 to 255 characters')
      const booked = await callAdjust(database.lanes, { merchantId, amount: Number(amount), text })
      if (!booked) throw new Error(`there is no merchant ${merchantId}`)
      return { ...booked }
    },
  })
}
