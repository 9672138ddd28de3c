import { transactionPools } from '@trestle/database/pools.ts'
import { type Command, Option } from 'commander'
import { TRUSTED_COLUMNS } from '../access/caller.ts'
import { callAddFraud } from '../disputes/fraud-repository.ts'
import { insertOperatorAudit } from '../operators/operator-audit-repository.ts'
import { instant } from '../requests/fields.ts'
import { findTransactionTenant } from '../transactions/transaction-repository.ts'
import { commandGroup, type Operator, type OperatorCommand } from './operator-command.ts'

/** `payments frauds …`: fraud alerts that reach the operator on paper. */
export function fraudsCommand(operator: Operator): Command {
  return commandGroup(operator, 'frauds', 'add fraud alerts', commands)
}

const commands: readonly OperatorCommand[] = [
  {
    usage: 'add <transaction>',
    description: 'add a fraud alert; it moves no money',
    options: [
      new Option('--reason <code>', 'of the alert').choices(['0', '1', '2', '3', '4', '5', '6', '7', '8']),
      ['--reported <instant>', 'when it was reported, as 2026-03-01T10:20:30Z'],
      ['--reference <reference>', 'of the acquirer: a report is kept once under it'],
    ],
    run: async ({ db, pools }, { words: [transactionId = ''], options: { reason, reported, reference } }) => {
      const instantOfReport = instant().optional().safeParse(reported)
      if (!instantOfReport.success) throw new Error('--reported is not an instant of the years 1970 to 9999')
      const fraud = {
        ...(reason === undefined ? {} : { reason: Number(reason) }),
        reported: instantOfReport.data,
        ...(reference === undefined ? {} : { acquirerRef: String(reference) }),
      }
      const tenant = await findTransactionTenant(pools, transactionId)
      if (!tenant) throw new Error(`there is no transaction ${transactionId}`)
      const { merchantId } = tenant
      return db.transaction().execute(async (trx) => {
        const call = { ...TRUSTED_COLUMNS, transactionId, fraud }
        const { fraud: added } = await callAddFraud(transactionPools(trx, merchantId), call)
        if (!added) throw new Error(`there is no transaction ${transactionId}`)
        await insertOperatorAudit(trx, { action: 'fraud.added', merchantId, payload: { fraudId: added.id } })
        return { ...added }
      })
    },
  },
]
