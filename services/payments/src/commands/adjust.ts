import type { Command } from 'commander'
import { callAdjust } from '../ledger/line-repository.ts'
import { type Operator, toCommand } from './operator-command.ts'
import { textOf } from './read-options.ts'

const TEXT_LENGTH_MAX = 255

/** `payments adjust <merchant> <amount> <text>`: changes a balance for another reason than a card or a bank. */
export function adjustCommand(operator: Operator): Command {
  return toCommand(operator, {
    usage: 'adjust <merchant> <amount> <text>',
    description: 'change the balance of a merchant by minor units of its currency: +100 or -100',
    options: [['--exception <id>', 'that the adjustment answers, such as a lost dispute: it is resolved with it']],
    run: async ({ pools }, { words: [merchantId = '', amount = '', text = ''], options }) => {
      if (!/^[+-]?[1-9]\d{0,11}$/.test(amount)) throw new Error('the amount is a number of minor units, not 0')
      if (text === '' || text.length > TEXT_LENGTH_MAX) throw new Error('the text has 1 to 255 characters')
      const exceptionId = textOf(options.exception)?.toLowerCase()
      const booked = await callAdjust(pools, { merchantId, amount: Number(amount), text, exceptionId })
      if (!booked) throw new Error(`there is no merchant ${merchantId}`)
      if (booked.verdict === 'no-exception') throw new Error(`there is no open exception ${exceptionId}`)
      if (booked.verdict === 'events-wait')
        throw new Error(
          `exception ${exceptionId} holds the balance until events of an acquirer are applied: no adjustment answers it`,
        )
      const { lineId, balance } = booked
      return { lineId, balance }
    },
  })
}
